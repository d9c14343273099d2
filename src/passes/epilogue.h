// Fusing an anchor (conv, gemm) with the pointwise operations that follow it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "passes/pass.h"

namespace stoker {

using IsAnchor = bool (*)(const Node&);

// The node in front of an anchor that joins the group, made to be read by it alone; null: none.
using HeadOf = Node* (*)(Graph& graph, Node* anchor);

// Every anchor takes the longest chain of pointwise users that some tactic can run with it. With
// `head` only anchors that have one are looked at, and both are fused also when no user joins.
Result<int> fuse_epilogues(Graph& graph, const PassContext& context, IsAnchor is_anchor,
                           const std::string& name, HeadOf head = nullptr);

}  // namespace stoker
