// dequantize(a), dequantize(b) -> gemm or matmul -> bias, relu or clip -> quantize => one fused
// node.
// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized.h"

namespace stoker {

Result<int> quantized_gemm(Graph& graph, const PassContext& context) {
  return fuse_quantized(
      graph, context,
      {.name = "quantized_gemm",
       .is_anchor = [](const Node& node) { return node.is("gemm") || node.is("matmul"); },
       .dequantized_inputs = 2});
}

}  // namespace stoker
