// x * clip(x + 3, 0, 6) / 6 in any order of the product, and x * hard_sigmoid(x) with a slope of
// one sixth -> hard_swish; clip(x + 3, 0, 6) / 6 alone -> hard_sigmoid.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// The other factor of a product with 1/6, or of a division by 6.
Value* sixth_of(const Value* value) {
  if (const Node* div = producer_of(value, "div"))
    return is_scalar(div->inputs[1], 6) ? div->inputs[0] : nullptr;
  const Node* mul = producer_of(value, "mul");
  if (!mul) return nullptr;
  if (is_scalar(mul->inputs[1], 1.0 / 6)) return mul->inputs[0];
  return is_scalar(mul->inputs[0], 1.0 / 6) ? mul->inputs[1] : nullptr;
}

// The x of clip(x + 3, 0, 6).
Value* clipped(const Value* value) {
  const Node* clip = producer_of(value, "clip");
  if (!clip || clip->inputs.size() != 3 || !is_scalar(clip->inputs[1], 0) ||
      !is_scalar(clip->inputs[2], 6))
    return nullptr;
  const Node* sum = producer_of(clip->inputs[0], "add");
  if (!sum) return nullptr;
  if (is_scalar(sum->inputs[1], 3)) return sum->inputs[0];
  return is_scalar(sum->inputs[0], 3) ? sum->inputs[1] : nullptr;
}

bool is_product(const Value* value, const Value* x, bool (*fits)(const Value*, const Value*)) {
  const Node* mul = producer_of(value, "mul");
  if (!mul) return false;
  const Value* gate = other_operand(*mul, x);
  return gate && fits(gate, x);
}

bool is_clipped(const Value* value, const Value* x) { return clipped(value) == x; }

// clip(x + 3, 0, 6) / 6.
bool is_gate(const Value* value, const Value* x) {
  if (const Node* node = producer_of(value, "hard_sigmoid")) {
    const double alpha = node->attributes.get_float("alpha", 0.2);
    const double beta = node->attributes.get_float("beta", 0.5);
    return node->inputs[0] == x && std::abs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5;
  }
  const Value* six = sixth_of(value);
  return six && clipped(six) == x;
}

// x / 6 * clip(x + 3, 0, 6).
bool is_sixth_times_clipped(const Node& mul, const Value* x) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    if (sixth_of(mul.inputs[side]) == x && clipped(mul.inputs[1 - side]) == x) return true;
  }
  return false;
}

// The x of which the node computes hard_swish; null otherwise.
Value* source_of(const Node& node) {
  const Value* value = node.outputs[0];
  if (const Value* six = sixth_of(value)) {
    const Node* mul = producer_of(six, "mul");
    for (size_t i = 0; mul && i < 2; ++i) {
      if (is_product(six, mul->inputs[i], is_clipped)) return mul->inputs[i];
    }
  }
  if (!node.is("mul")) return nullptr;
  for (Value* x : node.inputs) {
    if (is_product(value, x, is_gate)) return x;
    Value* whole = sixth_of(x);
    if (whole && is_sixth_times_clipped(node, whole)) return whole;
  }
  return nullptr;
}

Result<bool> replace(Graph& graph, Node* node, Value* x, std::string_view op,
                     Attributes attributes) {
  if (!x || !is_float(x->type.dtype) || !(node->outputs[0]->type == x->type)) return false;
  return replace_expression(graph, node, op, {x}, std::move(attributes));
}

}  // namespace

Result<int> hard_swish(Graph& graph, const PassContext&) {
  int changes = 0;
  const std::vector<Node*> nodes = node_snapshot(graph);
  for (Node* node : nodes) {
    if (node->is_constant() || !(node->is("mul") || node->is("div"))) continue;
    STOKER_ASSIGN(const bool changed, replace(graph, node, source_of(*node), "hard_swish", {}));
    changes += changed;
  }
  for (Node* node : nodes) {
    if (node->is_constant() || node->outputs[0]->uses.empty()) continue;
    const Value* six = sixth_of(node->outputs[0]);
    Value* x = six ? clipped(six) : nullptr;
    STOKER_ASSIGN(const bool changed,
                  replace(graph, node, x, "hard_sigmoid",
                          {{"alpha", Attribute(1.0 / 6)}, {"beta", Attribute(0.5)}}));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
