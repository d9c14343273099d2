// SPDX-License-Identifier: Apache-2.0
#include "lower/region_builder.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "lower/region_ops.h"

namespace stoker {

RegionBuilder::RegionBuilder(Dims space) : space_(std::move(space)) {
  program_.rank = static_cast<int32_t>(space_.size());
  program_.reduced.assign(space_.size(), 0);
}

bool RegionBuilder::computes(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 ||
         dtype == DType::kI64 || dtype == DType::kBool;
}

// Trailing alignment as in numpy: an operand's dims stand under the last dims of the space.
Result<RegionOperand> RegionBuilder::map_operand(const Dims& dims) const {
  if (dims.size() > space_.size())
    return unsupported("an operand of rank {} in a space of rank {}", dims.size(), space_.size());
  const size_t shift = space_.size() - dims.size();
  RegionOperand map;
  for (size_t d = 0; d < space_.size(); ++d) {
    if (d < shift) {
      map.dim_of.push_back(-1);
      continue;
    }
    const Dim& dim = dims[d - shift];
    const bool one = dim.is_const() && dim.value() == 1;
    if (!one && dim != space_[d] && dim.is_const() && space_[d].is_const()) {
      return unsupported("an operand {} does not broadcast into {}", dims_text(dims),
                         dims_text(space_));
    }
    map.dim_of.push_back(static_cast<int8_t>(d - shift));
  }
  return map;
}

void RegionBuilder::accumulator(const Value* value, DType dtype) {
  RegionOperand map;
  for (size_t d = 0; d < space_.size(); ++d) map.dim_of.push_back(static_cast<int8_t>(d));
  program_.inputs.push_back(std::move(map));
  RegionInstruction instruction{RegionOp::kInput, dtype, {0, -1, -1}, 0};
  program_.instructions.push_back(instruction);
  if (value) define(value, 0);
}

Result<int> RegionBuilder::load(const LoweredOperand& operand) {
  Dims dims;
  if (operand.frozen) {
    for (const int64_t extent : operand.frozen->shape()) dims.emplace_back(extent);
  } else {
    if (!operand.value->type.ranked) return unsupported("an operand of unknown rank");
    dims = operand.value->type.dims;
  }
  STOKER_ASSIGN(RegionOperand map, map_operand(dims));
  return load_mapped(operand, std::move(map));
}

Result<int32_t> RegionBuilder::carry(const LoweredOperand& operand) {
  if (!operand.value->type.ranked) return unsupported("an operand of unknown rank");
  for (const Dim& dim : operand.value->type.dims) {
    if (dim != Dim(1)) return unsupported("an operand {}", dims_text(operand.value->type.dims));
  }
  STOKER_ASSIGN(RegionOperand map, map_operand(operand.value->type.dims));
  program_.inputs.push_back(std::move(map));
  operands_.push_back(operand);
  return static_cast<int32_t>(program_.inputs.size()) - 1;
}

Result<int> RegionBuilder::load_along(const LoweredOperand& operand, int64_t axis) {
  RegionOperand map;
  map.dim_of.assign(space_.size(), -1);
  if (axis < 0 || axis >= static_cast<int64_t>(space_.size()))
    return unsupported("axis {} outside the space", axis);
  map.dim_of[static_cast<size_t>(axis)] = 0;
  return load_mapped(operand, std::move(map));
}

Result<int> RegionBuilder::load_mapped(const LoweredOperand& operand, RegionOperand map) {
  const DType dtype = operand.frozen ? operand.frozen->dtype() : operand.value->type.dtype;
  if (dtype == DType::kString || dtype == DType::kC64 || dtype == DType::kC128 ||
      dtype_bits(dtype) < 8) {
    return unsupported("{} operands", dtype_name(dtype));
  }
  program_.inputs.push_back(std::move(map));
  operands_.push_back(operand);
  program_.instructions.push_back(
      {RegionOp::kInput, dtype, {static_cast<int32_t>(program_.inputs.size()) - 1, -1, -1}, 0});
  return static_cast<int>(program_.instructions.size()) - 1;
}

int RegionBuilder::constant(DType dtype, double value) {
  program_.instructions.push_back({RegionOp::kConstant, dtype, {-1, -1, -1}, value});
  return static_cast<int>(program_.instructions.size()) - 1;
}

int RegionBuilder::emit(RegionOp op, DType dtype, int a, int b, int c) {
  program_.instructions.push_back({op, dtype, {a, b, c}, 0});
  return static_cast<int>(program_.instructions.size()) - 1;
}

Result<int> RegionBuilder::of(const Value* value) {
  if (const auto it = defined_.find(value); it != defined_.end()) return it->second;
  // A constant of one element becomes an immediate: no operand, no load.
  if (value->is_constant() && value->constant->count() == 1 && !value->open &&
      computes(value->type.dtype) && value->type.dtype != DType::kI64) {
    const int instruction =
        constant(value->type.dtype, load_double(value->type.dtype)(value->constant->data(), 0));
    define(value, instruction);
    return instruction;
  }
  STOKER_ASSIGN(const int instruction, load(operand_of(value)));
  define(value, instruction);
  return instruction;
}

Status RegionBuilder::reduce_over(const std::vector<int64_t>& axes) {
  std::vector<uint8_t> reduced(space_.size(), 0);
  for (int64_t axis : axes) {
    if (axis < 0) axis += static_cast<int64_t>(space_.size());
    if (axis < 0 || axis >= static_cast<int64_t>(space_.size()))
      return unsupported("axis {} outside the space", axis);
    reduced[static_cast<size_t>(axis)] = 1;
  }
  if (program_.has_reduction() && reduced != program_.reduced)
    return unsupported("two groups of reduced axes");
  program_.reduced = std::move(reduced);
  return Status::ok();
}

Status RegionBuilder::output(const Value* value) {
  const auto it = defined_.find(value);
  if (it == defined_.end())
    return internal_error("region output '{}' was never computed", value->name);
  const Dims& dims = value->type.dims;
  RegionOutput output;
  output.value = it->second;
  const bool full =
      dims.size() == space_.size() && std::equal(dims.begin(), dims.end(), space_.begin());
  int8_t next = 0;
  for (size_t d = 0; d < space_.size(); ++d) {
    if (full || !program_.reduced[d]) {
      output.map.dim_of.push_back(next++);
    } else {
      output.map.dim_of.push_back(-1);
      if (dims.size() == space_.size()) ++next;  // keepdims: an extent of 1 is skipped
    }
  }
  if (next != static_cast<int8_t>(dims.size()))
    return unsupported("output {} does not fit the space {}", dims_text(dims), dims_text(space_));
  program_.outputs.push_back(std::move(output));
  return Status::ok();
}

Status RegionBuilder::check(std::span<const Value* const> outputs) const {
  std::vector<int> ranks;
  if (program_.inputs.size() > operands_.size()) ranks.push_back(static_cast<int>(space_.size()));
  for (const LoweredOperand& operand : operands_) {
    ranks.push_back(operand.frozen ? operand.frozen->rank()
                                   : static_cast<int>(operand.value->type.dims.size()));
  }
  for (const Value* output : outputs) ranks.push_back(static_cast<int>(output->type.dims.size()));
  const std::string problem = check_region(program_, ranks);
  return problem.empty() ? Status::ok() : unsupported("{}", problem);
}

Status RegionBuilder::node(const Node& node) {
  const RegionRule* rule = find_region_rule(node.op->name);
  if (!rule) return unsupported("{} has no region form", node.op->name);
  STOKER_TRY(rule->emit(*this, node).at(std::string(node.op->name)));
  return Status::ok();
}

bool is_region_op(const Node& node) { return find_region_rule(node.op->name) != nullptr; }

}  // namespace stoker
