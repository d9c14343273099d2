// exp(x - max(x)) / sum(exp(x - max(x))) over one axis -> softmax; its logarithm, spelled
// (x - max(x)) - log(sum(exp(x - max(x)))) -> log_softmax. Without the maximum it stays as it is:
// that overflows where softmax does not.
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// The only axis of a reduction of this kind that keeps its extent; -1 otherwise.
int64_t only_axis(const Node* node) {
  if (!node || node->attributes.get_int("keepdims", 1) != 1) return -1;
  const auto axes = reduce_axes(*node);
  return axes && axes->size() == 1 ? (*axes)[0] : -1;
}

// The shifted value of sum(exp(shifted)) and its axis.
const Value* exponents_of(const Value* total, int64_t* axis) {
  const Node* sum = producer_of(total, "reduce_sum");
  *axis = only_axis(sum);
  const Node* exp = *axis >= 0 ? producer_of(sum->inputs[0], "exp") : nullptr;
  return exp ? exp->inputs[0] : nullptr;
}

// The x of x - max(x) over that axis.
Value* source_of(const Value* shifted, int64_t axis) {
  const Node* sub = producer_of(shifted, "sub");
  const Node* max = sub ? producer_of(sub->inputs[1], "reduce_max") : nullptr;
  if (!max || max->inputs[0] != sub->inputs[0] || only_axis(max) != axis) return nullptr;
  return sub->inputs[0];
}

Result<bool> rewrite(Graph& graph, Node* node) {
  int64_t axis = -1;
  Value* x = nullptr;
  if (node->is("div")) {
    const Value* shifted = exponents_of(node->inputs[1], &axis);
    const Node* exp = producer_of(node->inputs[0], "exp");
    if (shifted && exp && exp->inputs[0] == shifted) x = source_of(shifted, axis);
  } else {
    const Node* log = producer_of(node->inputs[1], "log");
    const Value* shifted = log ? exponents_of(log->inputs[0], &axis) : nullptr;
    if (shifted && shifted == node->inputs[0]) x = source_of(shifted, axis);
  }
  if (!x || !is_float(x->type.dtype) || !(node->outputs[0]->type == x->type)) return false;
  return replace_expression(graph, node, node->is("div") ? "softmax" : "log_softmax", {x},
                            {{"axis", Attribute(axis)}});
}

}  // namespace

Result<int> softmax(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !(node->is("div") || node->is("sub"))) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
