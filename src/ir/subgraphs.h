// What nodes with sub-graphs pass to them. The operands of such a node are its own first, then what
// the sub-graphs capture from outside, which keep their values over all iterations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph.h"

namespace stoker {

// Positions of the first captured operand: among the node's inputs and the sub-graph's.
struct Captures {
  size_t node = 0, body = 0;
};
Captures captures_of(const Node& node);

// Outputs of a sub-graph that are not outputs of its node: the condition of a loop's body.
size_t hidden_outputs(const Node& node);
// Sub-graphs that the op has.
size_t subgraph_count(const Node& node);

}  // namespace stoker
