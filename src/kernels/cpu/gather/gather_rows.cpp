// Tactic gather_rows: Y[o, i, :] = X[o, index[i], :], rows copied whole.
//   bound    memory: the rows are read and written once; short rows are bound by latency
//   faults   an index outside of the table is an error of the run
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/cpu/gather/gather_walk.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kUnitBytes = 64 << 10;
constexpr int64_t kRowCost = 64;  // bytes that the look-up of a row is worth

struct Geometry : GatherRows {
  int64_t row_bytes = 0;
};

Geometry geometry(const Desc& desc) {
  const TensorDesc& x = desc.inputs[0];
  const int64_t axis = desc.as<GatherParams>().axis;
  const size_t a = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  Geometry g;
  g.table = x.dims[a];
  g.row_bytes = dtype_bits(x.dtype) / 8;
  for (size_t d = 0; d < a; ++d) g.outer *= x.dims[d];
  for (size_t d = a + 1; d < x.dims.size(); ++d) g.row_bytes *= x.dims[d];
  g.indices = logical_count(desc.inputs[1]);
  g.rows_per_unit = std::max<int64_t>(kUnitBytes / (g.row_bytes + kRowCost), 1);
  return g;
}

Status supports(const Desc& desc) {
  if (desc.inputs.size() != 2 || desc.outputs.size() != 1)
    return unsupported("a gather has two inputs and one output");
  const TensorDesc &x = desc.inputs[0], &indices = desc.inputs[1];
  for (const TensorDesc* operand : {&x, &indices, &desc.outputs[0]}) {
    if (operand->layout != Layout::kPlain || operand->packing != Packing::kNone) {
      return unsupported("operands must be plain, one is {} {}", layout_name(operand->layout),
                         packing_name(operand->packing));
    }
  }
  if (dtype_bits(x.dtype) < 8)
    return unsupported("elements of dtype {} have no whole bytes", dtype_name(x.dtype));
  STOKER_TRY(check_gather_indices(indices));
  const int64_t axis = desc.as<GatherParams>().axis;
  if (axis < -x.rank() || axis >= x.rank())
    return unsupported("axis {} of rank {}", axis, x.rank());
  return Status::ok();
}

int64_t units(const Desc& desc, const Config&, const void*, int) { return geometry(desc).units(); }

template <class I, class Move>
Status gather(const Geometry& g, const Launch& l, Move move) {
  const auto* table = static_cast<const std::byte*>(l.inputs[0]);
  auto* output = static_cast<std::byte*>(l.outputs[0]);
  return gather_walk<I>(g, l, [&](int64_t to, int64_t from) {
    move(output + to * g.row_bytes, table + from * g.row_bytes);
  });
}

template <class I>
Status gather_any(const Geometry& g, const Launch& l) {
  // Single elements are worth a move of known size.
  switch (g.row_bytes) {
    case 1: return gather<I>(g, l, [](std::byte* to, const std::byte* from) { *to = *from; });
    case 2:
      return gather<I>(g, l,
                       [](std::byte* to, const std::byte* from) { std::memcpy(to, from, 2); });
    case 4:
      return gather<I>(g, l,
                       [](std::byte* to, const std::byte* from) { std::memcpy(to, from, 4); });
    case 8:
      return gather<I>(g, l,
                       [](std::byte* to, const std::byte* from) { std::memcpy(to, from, 8); });
    default: break;
  }
  const size_t bytes = static_cast<size_t>(g.row_bytes);
  return gather<I>(g, l,
                   [bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
}

Status launch(const Launch& l) {
  const Geometry g = geometry(*l.desc);
  return l.desc->inputs[1].dtype == DType::kI32 ? gather_any<int32_t>(g, l)
                                                : gather_any<int64_t>(g, l);
}

}  // namespace

extern const Tactic gather_rows;
const Tactic gather_rows = {
    .name = "gather_rows",
    .version = 1,
    .family = Family::kGather,
    .supports = supports,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
