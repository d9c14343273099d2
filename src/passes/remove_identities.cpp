// Removes nodes whose output is their input: the same elements under the same type.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

bool same_type(const Node& node) { return node.inputs[0]->type == node.outputs[0]->type; }

bool keeps_order(const Node& node) {
  const auto perm = node.attributes.get_ints("perm");
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return !perm.empty() || node.inputs[0]->type.rank() <= 1;
}

bool all_equal(const Value* value, int64_t expected) {
  const auto ints = constant_ints(value);
  return ints && std::all_of(ints->begin(), ints->end(), [&](int64_t v) { return v == expected; });
}

bool is_identity(const Node& node) {
  if (node.inputs.empty() || !node.inputs[0] || node.outputs.size() != 1) return false;
  const std::string_view op = node.op->name;
  if (op == "identity") return true;
  if (!same_type(node) || !node.inputs[0]->type.ranked) return false;
  if (op == "cast") return true;  // same dtype, no rounding
  if (op == "reshape" || op == "flatten" || op == "squeeze" || op == "unsqueeze" || op == "expand")
    return true;
  if (op == "transpose") return keeps_order(node);
  if (op == "concat" || op == "sum" || op == "max" || op == "min" || op == "mean")
    return node.inputs.size() == 1;
  if (op == "slice")
    return node.inputs.size() < 5 || !node.inputs[4] || all_equal(node.inputs[4], 1);
  if (op == "tile") return all_equal(node.inputs[1], 1);
  if (op == "pad") return node.inputs.size() > 1 && all_equal(node.inputs[1], 0);
  return false;
}

}  // namespace

Result<int> remove_identities(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!is_identity(*node)) continue;
    Value* in = node->inputs[0];
    // The recipe of a weight keeps its end: only what leads to a known source is dropped.
    if (node->is_constant() && !in->is_constant()) continue;
    if (!replace_value(graph, node->outputs[0], in)) continue;
    if (in->producer) append_origins(in->producer, *node);
    graph.erase(node);
    ++changes;
  }
  return changes;
}

}  // namespace stoker
