// Computes equal things once: equal nodes on the same inputs, and equal constants where no refit by
// name could tell them apart.
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "base/hash.h"
#include "ir/text.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

bool mergeable(const Value& value) {
  if (value.origin.empty()) return true;
  return !is_float(value.type.dtype) && value.type.rank() <= 1;  // shapes and axes
}

int merge_constants(Graph& graph) {
  int changes = 0;
  std::unordered_map<std::string, Value*> seen;
  std::vector<Value*> constants;
  for (const auto& value : graph.values()) {
    if (value->is_constant() && !value->producer && mergeable(*value))
      constants.push_back(value.get());
  }
  for (Value* value : constants) {
    const auto [it, fresh] = seen.emplace(content_hash(*value->constant), value);
    if (fresh || graph.is_output(value)) continue;
    graph.replace_all_uses(value, it->second);
    graph.erase_unused_constant(value);
    ++changes;
  }
  return changes;
}

bool comparable(const Node& node) {
  if (!node.op->deterministic || !node.subgraphs.empty()) return false;
  for (const Value* value : node.outputs) {
    if (value->type.kind == ValueType::Kind::kState) return false;
  }
  return true;
}

std::string key_of(const Node& node) {
  std::string key(node.op->name);
  key += attributes_text(node.attributes) + "#" + std::to_string(node.outputs.size());
  for (const Value* value : node.inputs) {
    key += value ? fmt::format(",{:p}", static_cast<const void*>(value)) : ",_";
  }
  return key;
}

}  // namespace

Result<int> cse(Graph& graph, const PassContext&) {
  int changes = merge_constants(graph);
  std::unordered_map<std::string, Node*> seen;
  for (Node* node : node_snapshot(graph)) {
    if (!comparable(*node)) continue;
    const auto [it, fresh] = seen.emplace(key_of(*node), node);
    if (fresh) continue;
    Node* first = it->second;
    bool merged = true;
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      if (node->outputs[i]->is_constant() != first->outputs[i]->is_constant()) merged = false;
      if (graph.is_output(node->outputs[i]) && graph.is_output(first->outputs[i])) merged = false;
    }
    if (!merged) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i)
      replace_value(graph, node->outputs[i], first->outputs[i]);
    append_origins(first, *node);
    graph.erase(node);
    ++changes;
  }
  return changes;
}

}  // namespace stoker
