// Convolution followed by pointwise operations: bias, residual, activation.
// SPDX-License-Identifier: Apache-2.0
#include "passes/epilogue.h"

namespace stoker {

Result<int> conv_epilogue(Graph& graph, const PassContext& context) {
  return fuse_epilogues(
      graph, context,
      [](const Node& node) {
        return node.is("conv") || node.is("conv_integer") || node.is("conv_transpose");
      },
      "conv_epilogue");
}

}  // namespace stoker
