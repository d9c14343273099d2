// Sub-graphs: each gets its own copy of the source constants that it captures, so that passes
// inside see weights as constants; a conditional whose condition is known becomes its branch.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/subgraphs.h"
#include "passes/fuse.h"
#include "passes/match.h"
#include "passes/refresh_types.h"

namespace stoker {
namespace {

// The input `index` of a sub-graph becomes a constant of it.
void make_constant(Graph& body, size_t index, const Value& outside) {
  Value* input = body.inputs[index];
  const std::string name = input->name;
  body.rename(input, name + "_captured");
  Value* constant = body.add_constant(name, *outside.constant, outside.origin);
  body.replace_all_uses(input, constant);
}

bool can_sink(const Node& node, size_t operand) {
  const Value* value = node.inputs[operand];
  return value && value->is_constant() && !value->producer;
}

// Drops the captured operands that have become constants of the sub-graphs.
int sink_constants(Graph& graph, Node* node) {
  const Captures first = captures_of(*node);
  std::vector<Value*> kept;
  std::vector<bool> sunk(node->inputs.size(), false);
  int changes = 0;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    sunk[i] = i >= first.node && can_sink(*node, i);
    changes += sunk[i];
    if (!sunk[i]) kept.push_back(node->inputs[i]);
  }
  if (changes == 0) return 0;
  for (const auto& body : node->subgraphs) {
    for (size_t i = first.node; i < node->inputs.size(); ++i) {
      if (sunk[i]) make_constant(*body, i - first.node + first.body, *node->inputs[i]);
    }
    for (size_t i = node->inputs.size(); i-- > first.node;) {
      if (sunk[i]) body->erase_unused_input(i - first.node + first.body);
    }
  }
  graph.set_inputs(node, kept);
  return changes;
}

Result<bool> inline_branch(Graph& graph, Node* node) {
  const auto condition = scalar_constant(node->inputs[0]);
  if (!condition) return false;
  const Graph& branch = *node->subgraphs[*condition != 0 ? 0 : 1];
  for (const Value* value : node->outputs) {
    if (graph.is_output(value)) {
      // Outputs keep their names only when the branch computes them itself, once.
      const Value* inner = branch.outputs[static_cast<size_t>(value->output)];
      if (!inner->producer || std::count(branch.outputs.begin(), branch.outputs.end(), inner) > 1)
        return false;
    }
  }
  const std::vector<Value*> args(node->inputs.begin() + 1, node->inputs.end());
  std::vector<Node*> nodes;
  const auto outputs = inline_body(graph, branch, args, node, &nodes);
  for (Node* inlined : nodes) append_origins(inlined, *node);
  for (size_t i = 0; i < outputs.size(); ++i) replace_value(graph, node->outputs[i], outputs[i]);
  graph.erase(node);
  return true;
}

}  // namespace

Result<int> simplify_subgraphs(Graph& graph, const PassContext&) {
  int changes = 0, inlined = 0;
  for (Node* node : node_snapshot(graph)) {
    if (subgraph_count(*node) == 0 || node->is("fused")) continue;
    changes += sink_constants(graph, node);
    if (!node->is("if")) continue;
    STOKER_ASSIGN(const bool is_inlined, inline_branch(graph, node));
    inlined += is_inlined;
  }
  // What was unknown where two branches met, a rank above all, is often known now.
  if (inlined > 0) infer_again(graph);
  return changes + inlined;
}

}  // namespace stoker
