// Making and undoing `fused` nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "passes/pass.h"

namespace stoker {

// Replaces the members by one `fused` node at the place of the last of them. `members` stand in
// graph order and no other node lies on a path between two of them; every user of what they compute
// stands behind the last member. Inputs are the values from outside (constants too) in the order of
// their first use, outputs the values used outside and those in front of them. The members' origins
// are joined; nodes inside keep theirs.
Node* fuse(Graph& graph, const std::vector<Node*>& members, const std::string& name);

// Puts the body back in place of the node. Returns the nodes in order.
std::vector<Node*> unfuse_node(Graph& graph, Node* fused);
// All fused nodes of the graph and of its sub-graphs; returns how many.
Result<int> unfuse(Graph& graph);

// Inserts a copy of the body's nodes before `before`, its inputs standing for `args`. Returns the
// values that the body's outputs became.
std::vector<Value*> inline_body(Graph& graph, const Graph& body, const std::vector<Value*>& args,
                                Node* before, std::vector<Node*>* inlined = nullptr);

// Fuses when the oracle knows a tactic for the result; otherwise the graph stays as it was and null
// comes back. `members` are replaced by the nodes that stand for them then.
Node* fuse_if_supported(Graph& graph, std::vector<Node*>& members, const std::string& name,
                        const PassContext& context);

}  // namespace stoker
