// Matrix multiplication followed by pointwise operations: bias, residual, activation.
// SPDX-License-Identifier: Apache-2.0
#include "passes/epilogue.h"

namespace stoker {

Result<int> gemm_epilogue(Graph& graph, const PassContext& context) {
  return fuse_epilogues(
      graph, context,
      [](const Node& node) {
        return node.is("gemm") || node.is("matmul") || node.is("matmul_integer");
      },
      "gemm_epilogue");
}

}  // namespace stoker
