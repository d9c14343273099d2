// gather -> the gather family.
// SPDX-License-Identifier: Apache-2.0
#include "lower/lowered.h"

namespace stoker {

Result<LoweredStep> lower_gather(const Node& node) {
  if (!node.is("gather")) return unsupported("not a gather");
  const Value *data = node.inputs[0], *indices = node.inputs[1];
  if (!data->type.ranked || !indices->type.ranked || dtype_bits(data->type.dtype) < 8) {
    return unsupported("an unknown rank or dtype");
  }
  GatherParams params;
  params.axis = node.attributes.get_int("axis", 0);
  if (params.axis < 0) params.axis += data->type.rank();
  LoweredStep step;
  step.params = params;
  step.inputs = {operand_of(data), operand_of(indices)};
  step.outputs = {node.outputs[0]};
  return step;
}

}  // namespace stoker
