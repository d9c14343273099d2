// x * tanh(softplus(x)), where softplus may be written log(1 + exp(x)) -> mish.
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

Value* softplus_of(const Value* value) {
  if (const Node* node = producer_of(value, "softplus")) return node->inputs[0];
  const Node* log = producer_of(value, "log");
  const Node* sum = log ? producer_of(log->inputs[0], "add") : nullptr;
  if (!sum) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* exp = producer_of(sum->inputs[side], "exp");
    if (exp && is_scalar(sum->inputs[1 - side], 1)) return exp->inputs[0];
  }
  return nullptr;
}

Result<bool> rewrite(Graph& graph, Node* tanh) {
  Value* x = softplus_of(tanh->inputs[0]);
  if (!x || !is_float(x->type.dtype) || !single_use(graph, tanh->outputs[0])) return false;
  Node* product = tanh->outputs[0]->uses[0].node;
  if (!product->is("mul") || other_operand(*product, tanh->outputs[0]) != x) return false;
  if (!(product->outputs[0]->type == x->type)) return false;
  return replace_expression(graph, product, "mish", {x});
}

}  // namespace

Result<int> mish(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !node->is("tanh")) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
