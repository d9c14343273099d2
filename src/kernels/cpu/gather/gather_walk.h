// What the gather tactics share: the rows of a unit, each index looked up and checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/status.h"
#include "kernels/tactic.h"

namespace stoker::cpu {

// outer x table rows; of each outer slice the rows that `indices` name.
struct GatherRows {
  int64_t outer = 1, table = 0, indices = 0;
  int64_t rows_per_unit = 1;
  int64_t rows() const { return outer * indices; }
  int64_t units() const { return (rows() + rows_per_unit - 1) / rows_per_unit; }
};

// Calls move(row of the output, row of the table) for the rows of the launch.
template <class I, class Move>
Status gather_walk(const GatherRows& g, const Launch& l, Move move) {
  const auto* indices = static_cast<const I*>(l.inputs[1]);
  const int64_t last = std::min(l.unit_end * g.rows_per_unit, g.rows());
  for (int64_t row = l.unit_begin * g.rows_per_unit; row < last; ++row) {
    const int64_t position = row % g.indices;
    const int64_t index = static_cast<int64_t>(indices[position]);
    const int64_t wrapped = index < 0 ? index + g.table : index;
    if (wrapped < 0 || wrapped >= g.table) {
      return invalid_argument(
          "gather: index {} at position {} is outside of the axis, which has {} entries; "
          "indices must lie in [{}, {}]",
          index, position, g.table, -g.table, g.table - 1);
    }
    move(row, row / g.indices * g.table + wrapped);
  }
  return Status::ok();
}

inline Status check_gather_indices(const TensorDesc& indices) {
  if (indices.dtype == DType::kI32 || indices.dtype == DType::kI64) return Status::ok();
  return unsupported("indices of dtype {}; i32 and i64 are possible", dtype_name(indices.dtype));
}

}  // namespace stoker::cpu
