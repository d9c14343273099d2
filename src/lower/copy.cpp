// transpose, slice and concat -> the copy family.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "lower/lowered.h"

namespace stoker {
namespace {

constexpr int64_t kMaxStep = INT32_MAX;  // of the family

Result<LoweredStep> lower_transpose(const Node& node) {
  CopyParams params = identity_copy(node.inputs[0]->type.rank());
  std::vector<int64_t> reversed(params.perm.rbegin(), params.perm.rend());
  params.perm = node.attributes.get_ints("perm", reversed);
  LoweredStep step;
  step.params = std::move(params);
  step.inputs = {operand_of(node.inputs[0])};
  return step;
}

Result<LoweredStep> lower_concat(const Node& node) {
  const int rank = node.outputs[0]->type.rank();
  CopyParams params = identity_copy(rank);
  params.concat_axis = node.attributes.get_int("axis", 0);
  if (params.concat_axis < 0) params.concat_axis += rank;
  LoweredStep step;
  step.params = std::move(params);
  for (const Value* input : node.inputs) step.inputs.push_back(operand_of(input));
  return step;
}

// Constant bounds; starts are clamped as the op does, against known extents.
Result<LoweredStep> lower_slice(const Node& node) {
  const Dims& dims = node.inputs[0]->type.dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto starts = constant_ints(node.inputs[1]);
  if (!starts) return unsupported("computed bounds");
  std::vector<int64_t> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (node.inputs.size() > 3 && node.inputs[3]) {
    const auto given = constant_ints(node.inputs[3]);
    if (!given) return unsupported("computed axes");
    axes = *given;
  }
  if (node.inputs.size() > 4 && node.inputs[4]) {
    const auto given = constant_ints(node.inputs[4]);
    if (!given) return unsupported("computed steps");
    steps = *given;
  }
  CopyParams params = identity_copy(rank);
  params.steps.assign(dims.size(), 1);
  LoweredStep step;
  step.param_dims.assign(dims.size(), Dim(0));
  for (size_t i = 0; i < axes.size() && i < steps.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    if (axis >= dims.size() || std::abs(steps[i]) > kMaxStep || steps[i] == 0)
      return unsupported("step {}", steps[i]);
    params.steps[axis] = steps[i];
    const Dim begin = (*starts)[i] < 0 ? dims[axis] + Dim((*starts)[i]) : Dim((*starts)[i]);
    const Dim last = steps[i] < 0 ? dims[axis] - Dim(1) : dims[axis];
    step.param_dims[axis] = Dim::max(Dim(0), Dim::min(begin, last));
  }
  step.params = std::move(params);
  step.inputs = {operand_of(node.inputs[0])};
  return step;
}

}  // namespace

Result<LoweredStep> lower_copy(const Node& node) {
  const bool known = node.is("transpose") || node.is("slice") || node.is("concat");
  if (!known) return unsupported("not a copy");
  for (const Value* input : node.inputs) {
    if (input && (!input->type.ranked || dtype_bits(input->type.dtype) < 8))
      return unsupported("an unknown rank or dtype");
  }
  if (!node.outputs[0]->type.ranked || node.outputs[0]->type.rank() == 0)
    return unsupported("rank 0");
  auto step = node.is("transpose") ? lower_transpose(node)
              : node.is("concat")  ? lower_concat(node)
                                   : lower_slice(node);
  if (step) step->outputs = {node.outputs[0]};
  return step;
}

}  // namespace stoker
