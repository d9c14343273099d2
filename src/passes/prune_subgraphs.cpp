// Outputs of conditionals and of loops that nothing uses, and captured operands that no sub-graph
// reads, so that what computes them can go. The values that a loop carries stay.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/subgraphs.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// Positions of outputs that may go.
std::vector<size_t> unused_outputs(const Graph& graph, const Node& node) {
  std::vector<size_t> unused;
  if (!node.is("if") && !node.is("loop")) return unused;
  const auto carried =
      static_cast<size_t>(std::max<int64_t>(node.attributes.get_int("carried"), 0));
  for (size_t i = node.is("loop") ? carried : 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i]->uses.empty() && !graph.is_output(node.outputs[i])) unused.push_back(i);
  }
  // A node has one output at least; one without any use is not for this pass.
  if (unused.size() == node.outputs.size()) unused.clear();
  return unused;
}

// A node of the same kind, with the same sub-graphs and fewer outputs, takes the node's place.
Node* without_outputs(Graph& graph, Node* node, const std::vector<size_t>& unused) {
  const size_t count = node->outputs.size();
  Node* fresh = graph.add_node(*node->op, node->inputs, node->attributes,
                               static_cast<int>(count - unused.size()), node, node->name);
  fresh->origins = node->origins;
  fresh->subgraphs = std::move(node->subgraphs);
  node->subgraphs.clear();
  for (const auto& body : fresh->subgraphs) {
    for (size_t i = unused.size(); i-- > 0;) {
      const size_t position = unused[i] + hidden_outputs(*fresh);
      body->outputs.erase(body->outputs.begin() + static_cast<ptrdiff_t>(position));
    }
  }
  std::vector<std::string> names;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    if (std::find(unused.begin(), unused.end(), i) != unused.end()) continue;
    const Value* old = node->outputs[i];
    Value* value = fresh->outputs[next++];
    value->type = old->type;
    value->elements = old->elements;
    value->origin = old->origin;
    names.push_back(old->name);
    graph.replace_all_uses(node->outputs[i], value);
  }
  const std::string name = node->name;
  graph.erase(node);
  graph.rename_node(fresh, name);
  for (size_t i = 0; i < names.size(); ++i) graph.rename(fresh->outputs[i], names[i]);
  return fresh;
}

int drop_unused_captures(Graph& graph, Node* node) {
  const Captures first = captures_of(*node);
  std::vector<Value*> kept;
  std::vector<size_t> dropped;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const bool unused =
        i >= first.node &&
        std::all_of(node->subgraphs.begin(), node->subgraphs.end(), [&](const auto& body) {
          const Value* input = body->inputs[i - first.node + first.body];
          return input->uses.empty() && !body->is_output(input);
        });
    if (unused)
      dropped.push_back(i);
    else
      kept.push_back(node->inputs[i]);
  }
  if (dropped.empty()) return 0;
  for (const auto& body : node->subgraphs) {
    for (size_t i = dropped.size(); i-- > 0;)
      body->erase_unused_input(dropped[i] - first.node + first.body);
  }
  graph.set_inputs(node, kept);
  return static_cast<int>(dropped.size());
}

}  // namespace

Result<int> prune_subgraphs(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (subgraph_count(*node) == 0 || node->is("fused")) continue;
    const std::vector<size_t> unused = unused_outputs(graph, *node);
    if (!unused.empty()) node = without_outputs(graph, node, unused);
    changes += static_cast<int>(unused.size()) + drop_unused_captures(graph, node);
  }
  return changes;
}

}  // namespace stoker
