// Scalar arithmetic of region programs, the ground of the interpreter. Integers of u64 travel as
// bit patterns; division of an integer by zero gives 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/desc/region.h"

namespace stoker {

struct RegionCell {
  double number = 0;    // of a float
  int64_t integer = 0;  // of an integer or bool
};

int64_t wrap_integer(DType dtype, int64_t value);
double round_number(DType to, double value);  // f16 and bf16 round, wider floats stay
RegionCell cell_cast(DType from, DType to, const RegionCell& a);
double unary_number(RegionOp op, double x);
int64_t unary_integer(RegionOp op, DType dtype, int64_t x);
RegionCell cell_binary(RegionOp op, DType argument, DType result, const RegionCell& a,
                       const RegionCell& b);

// Running state of one reduction.
class CellReduction {
 public:
  explicit CellReduction(const RegionInstruction& instruction);
  void add(const RegionCell& a);
  RegionCell result() const;

 private:
  RegionOp op_;
  DType dtype_;
  RegionCell cell_;
  int64_t count_ = 0;
};

}  // namespace stoker
