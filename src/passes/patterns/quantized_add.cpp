// dequantize(a), dequantize(b) -> add -> relu or clip -> quantize: residuals of quantized networks.
// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized.h"

namespace stoker {

Result<int> quantized_add(Graph& graph, const PassContext& context) {
  return fuse_quantized(graph, context,
                        {.name = "quantized_add",
                         .is_anchor =
                             [](const Node& node) {
                               return node.is("add") &&
                                      node.inputs[0]->type == node.inputs[1]->type;
                             },
                         .dequantized_inputs = 2});
}

}  // namespace stoker
