// x * dequantize(constant 8-bit weights) -> pointwise operations => one fused node, so that a
// kernel may read the weights as they are stored.
// SPDX-License-Identifier: Apache-2.0
#include "passes/epilogue.h"
#include "passes/match.h"
#include "passes/quantized.h"

namespace stoker {
namespace {

bool is_product(const Node& node) { return node.is("gemm") || node.is("matmul"); }

Node* weight_of(Graph& graph, Node* anchor) {
  Node* dequantize = dequantize_of(anchor->inputs[1]);
  if (!dequantize || !dequantize->inputs[0]->is_constant()) return nullptr;
  if (anchor->inputs[0] == anchor->inputs[1] || dequantize_of(anchor->inputs[0])) return nullptr;
  const DType dtype = dequantize->inputs[0]->type.dtype;
  if (dtype != DType::kI8 && dtype != DType::kU8) return nullptr;
  return single_use(graph, dequantize->outputs[0]) ? dequantize
                                                   : own_dequantize(graph, dequantize, anchor, 1);
}

}  // namespace

Result<int> weight_only_gemm(Graph& graph, const PassContext& context) {
  return fuse_epilogues(graph, context, is_product, "weight_only_gemm", weight_of);
}

}  // namespace stoker
