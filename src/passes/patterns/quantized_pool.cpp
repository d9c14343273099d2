// dequantize(x) -> average over a window or over all positions -> quantize.
// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized.h"

namespace stoker {

Result<int> quantized_pool(Graph& graph, const PassContext& context) {
  return fuse_quantized(graph, context,
                        {.name = "quantized_pool", .is_anchor = [](const Node& node) {
                           return node.is("global_average_pool") || node.is("average_pool");
                         }});
}

}  // namespace stoker
