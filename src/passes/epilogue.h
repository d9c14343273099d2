// Fusing an anchor (conv, gemm) with the pointwise operations that follow it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "passes/pass.h"

namespace stoker {

using IsAnchor = bool (*)(const Node&);

// Every anchor takes the longest chain of pointwise users that some tactic can run with it.
Result<int> fuse_epilogues(Graph& graph, const PassContext& context, IsAnchor is_anchor,
                           const std::string& name);

}  // namespace stoker
