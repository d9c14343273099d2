// x * sigmoid(alpha * x) -> swish(alpha): SiLU, and the sigmoid form of GELU (alpha 1.702).
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// The factor when `value` is x or x times a number.
std::optional<double> factor_of(const Value* value, const Value* x) {
  if (value == x) return 1.0;
  const Node* mul = producer_of(value, "mul");
  const Value* factor = mul ? other_operand(*mul, x) : nullptr;
  return factor && value->type == x->type ? scalar_constant(factor) : std::nullopt;
}

Result<bool> rewrite(Graph& graph, Node* sigmoid) {
  if (!single_use(graph, sigmoid->outputs[0])) return false;
  Node* product = sigmoid->outputs[0]->uses[0].node;
  if (!product->is("mul")) return false;
  Value* x = other_operand(*product, sigmoid->outputs[0]);
  if (!x || !is_float(x->type.dtype) || !(product->outputs[0]->type == x->type)) return false;
  const auto alpha = factor_of(sigmoid->inputs[0], x);
  if (!alpha) return false;
  Attributes attributes;
  if (*alpha != 1) attributes.set("alpha", *alpha);
  return replace_expression(graph, product, "swish", {x}, attributes);
}

}  // namespace

Result<int> swish(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !node->is("sigmoid")) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
