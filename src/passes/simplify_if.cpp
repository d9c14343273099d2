// Conditionals: a branch gets its own copy of the source constants that it captures, so that passes
// inside see weights as constants; a conditional whose condition is known becomes its branch.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/fuse.h"
#include "passes/match.h"

namespace stoker {
namespace {

// The branch input `index` becomes a constant of the branch.
void make_constant(Graph& branch, size_t index, const Value& outside) {
  Value* input = branch.inputs[index];
  const std::string name = input->name;
  branch.rename(input, name + "_captured");
  Value* constant = branch.add_constant(name, *outside.constant, outside.origin);
  branch.replace_all_uses(input, constant);
}

bool can_sink(const Node& node, size_t operand) {
  const Value* value = node.inputs[operand];
  return value && value->is_constant() && !value->producer;
}

// Drops the operands that have become constants of the branches.
Result<int> sink_constants(Graph& graph, Node* node) {
  std::vector<Value*> kept{node->inputs[0]};
  std::vector<bool> sunk(node->inputs.size(), false);
  int changes = 0;
  for (size_t i = 1; i < node->inputs.size(); ++i) {
    sunk[i] = can_sink(*node, i);
    changes += sunk[i];
    if (!sunk[i]) kept.push_back(node->inputs[i]);
  }
  if (changes == 0) return 0;
  auto& branches = node->subgraphs;
  for (const auto& branch : branches) {
    for (size_t i = 1; i < node->inputs.size(); ++i) {
      if (sunk[i]) make_constant(*branch, i - 1, *node->inputs[i]);
    }
  }
  for (const auto& branch : branches) {
    for (size_t i = node->inputs.size(); i-- > 1;) {
      if (sunk[i]) branch->erase_unused_input(i - 1);
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

Result<int> simplify_if(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!node->is("if")) continue;
    STOKER_ASSIGN(const int sunk, sink_constants(graph, node));
    changes += sunk;
    STOKER_ASSIGN(const bool inlined, inline_branch(graph, node));
    changes += inlined;
  }
  return changes;
}

}  // namespace stoker
