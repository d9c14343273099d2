// Pointwise ops, reductions, softmax, norms, and fused groups of them -> the region family.
// SPDX-License-Identifier: Apache-2.0
#include "lower/region_builder.h"

namespace stoker {
namespace {

// Reductions shrink their output, so their input is the space; everything else keeps it.
const Value* space_of(const NodeGroup& group) {
  for (const Node* node : group.members) {
    if (node->op->name.substr(0, 7) == "reduce_") return node->inputs[0];
  }
  return group.members.back()->outputs[0];
}

}  // namespace

Result<LoweredStep> lower_region(const NodeGroup& group) {
  const Value* space = space_of(group);
  for (const Node* node : group.members) {
    for (const Value* value : node->outputs) {
      if (!value->type.ranked) return unsupported("{} has an unknown rank", value->name);
    }
  }
  if (!space->type.ranked) return unsupported("an unknown rank");
  if (space->type.rank() > 8) return unsupported("rank {}", space->type.rank());
  RegionBuilder builder(space->type.dims);
  for (const Node* node : group.members) STOKER_TRY(builder.node(*node));
  LoweredStep step;
  for (const Value* output : group.outputs) {
    if (group.members.size() == 1 && output != group.outputs[0]) {
      if (output->uses.empty()) continue;
      return unsupported("further outputs");
    }
    STOKER_TRY(builder.output(output));
    step.outputs.push_back(output);
  }
  STOKER_TRY(builder.check(step.outputs));
  RegionParams params;
  params.program = builder.take_program();
  step.params = std::move(params);
  step.param_dims = space->type.dims;
  step.inputs = builder.take_operands();
  return step;
}

}  // namespace stoker
