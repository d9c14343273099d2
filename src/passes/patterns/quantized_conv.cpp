// dequantize(x), dequantize(w) -> conv -> relu or clip -> quantize => one fused node.
// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized.h"

namespace stoker {

Result<int> quantized_conv(Graph& graph, const PassContext& context) {
  return fuse_quantized(graph, context,
                        {.name = "quantized_conv",
                         .is_anchor = [](const Node& node) { return node.is("conv"); },
                         .dequantized_inputs = 2,
                         .constant_weight = true});
}

}  // namespace stoker
