// Removes nodes and constants that nothing uses.
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {

Result<int> dce(Graph& graph, const PassContext&) {
  const std::unordered_set<const Value*> outputs(graph.outputs.begin(), graph.outputs.end());
  int changes = 0;
  const std::vector<Node*> nodes = node_snapshot(graph);
  for (size_t i = nodes.size(); i-- > 0;) {
    bool used = false;
    for (const Value* value : nodes[i]->outputs)
      used |= !value->uses.empty() || outputs.count(value);
    if (used) continue;
    graph.erase(nodes[i]);
    ++changes;
  }
  std::vector<Value*> unused;
  for (const auto& value : graph.values()) {
    const bool source = value->is_constant() && !value->producer;
    if (source && value->uses.empty() && !outputs.count(value.get())) unused.push_back(value.get());
  }
  for (Value* value : unused) graph.erase_unused_constant(value);
  return changes + static_cast<int>(unused.size());
}

}  // namespace stoker
