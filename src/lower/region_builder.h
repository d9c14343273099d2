// RegionBuilder: pointwise and row-wise IR ops as a region program over a given iteration space.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/lowered.h"

namespace stoker {

class RegionBuilder {
 public:
  explicit RegionBuilder(Dims space);

  // Declares input 0 as the accumulator of a gemm or conv that stands for `value`.
  void accumulator(const Value* value, DType dtype);
  // Adds an operand explicitly; returns the instruction that loads it.
  Result<int> load(const LoweredOperand& operand);
  // The same for a rank-1 operand that walks along iteration dim `axis` (a per-channel bias).
  Result<int> load_along(const LoweredOperand& operand, int64_t axis);
  // One element that the program carries along without reading it; returns its input's number.
  Result<int32_t> carry(const LoweredOperand& operand);
  int constant(DType dtype, double value);
  int emit(RegionOp op, DType dtype, int a, int b = -1, int c = -1);
  void define(const Value* value, int instruction) { defined_[value] = instruction; }
  bool knows(const Value* value) const { return defined_.count(value) != 0; }

  // Instruction of a value: already defined, or an outside operand that is loaded now.
  Result<int> of(const Value* value);

  // Emits one op. unsupported when the op, a dtype or its shape does not fit a region.
  Status node(const Node& node);

  // Marks the axes of a reduction; all reductions of a program share one axis group.
  Status reduce_over(const std::vector<int64_t>& axes);
  // Stores the value of an op's output. A reduced output maps its missing axes to -1.
  Status output(const Value* value);

  // Whether the program is one that kernels take: a sum of thousands of operands is none.
  Status check(std::span<const Value* const> outputs) const;
  RegionProgram take_program() { return std::move(program_); }
  std::vector<LoweredOperand> take_operands() { return std::move(operands_); }
  const Dims& space() const { return space_; }

  // Dtypes that instructions compute in; others are loaded, stored and cast only.
  static bool computes(DType dtype);

 private:
  Result<RegionOperand> map_operand(const Dims& dims) const;
  Result<int> load_mapped(const LoweredOperand& operand, RegionOperand map);
  Dims space_;
  RegionProgram program_;
  std::vector<LoweredOperand> operands_;
  std::map<const Value*, int> defined_;
};

// Can `op` be part of a region at all? (By name; dtypes and shapes are checked when building.)
bool is_region_op(const Node& node);

}  // namespace stoker
