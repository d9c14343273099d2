// Any op -> its reference evaluation.
// SPDX-License-Identifier: Apache-2.0
#include "lower/lowered.h"

namespace stoker {

Result<LoweredStep> lower_fallback(const Node& node) {
  if (!node.op->evaluate) {
    return unsupported("{} '{}' needs a sub-program, which this version cannot lower yet",
                       node.op->name, node.name);
  }
  LoweredStep step;
  step.params = FallbackParams{std::string(node.op->name), node.attributes};
  for (const Value* input : node.inputs) step.inputs.push_back(operand_of(input));
  for (const Value* output : node.outputs) step.outputs.push_back(output);
  return step;
}

}  // namespace stoker
