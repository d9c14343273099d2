// min(max(x, low), high) and max(min(x, high), low) with constant limits -> clip.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

struct Limited {
  Value* x = nullptr;
  Value* limit = nullptr;
};

// x and the constant of max or min of the two.
std::optional<Limited> limited(const Node* node) {
  if (!node || node->inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    Value *x = node->inputs[side], *limit = node->inputs[1 - side];
    const auto number = scalar_constant(limit);
    // A limit of higher rank than x would add dimensions.
    if (!number || std::isnan(*number) || x->is_constant()) continue;
    if (limit->type.dtype != x->type.dtype || !(node->outputs[0]->type == x->type)) continue;
    return Limited{x, limit};
  }
  return std::nullopt;
}

// A clip takes limits of rank 0 and 1.
Result<Value*> scalar_limit(Graph& graph, Value* limit, Node* before) {
  if (limit->type.rank() <= 1) return limit;
  Value* shape = graph.add_constant("shape", Tensor::from<int64_t>({0}, std::vector<int64_t>()));
  STOKER_ASSIGN(Node * reshape, insert_node(graph, before, "reshape", {limit, shape}));
  return reshape->outputs[0];
}

Result<bool> rewrite(Graph& graph, Node* node) {
  const bool is_min = node->is("min");
  const auto outer = limited(node);
  if (!outer) return false;
  const Node* inside = producer_of(outer->x, is_min ? "max" : "min");
  const auto inner = limited(inside);
  if (!inner || !single_use(graph, outer->x)) return false;
  Value *low = is_min ? inner->limit : outer->limit, *high = is_min ? outer->limit : inner->limit;
  if (*scalar_constant(low) > *scalar_constant(high)) return false;
  STOKER_ASSIGN(low, scalar_limit(graph, low, node));
  STOKER_ASSIGN(high, scalar_limit(graph, high, node));
  return replace_expression(graph, node, "clip", {inner->x, low, high});
}

}  // namespace

Result<int> clip(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !(node->is("min") || node->is("max"))) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
