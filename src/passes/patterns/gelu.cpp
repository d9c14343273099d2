// x * 0.5 * (1 + erf(x / sqrt(2))) in the orders in which exporters multiply -> gelu, and the tanh
// form 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) -> gelu(approximate="tanh").
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// value = scalar * result, as mul or (for the inverse) as div.
Value* unscaled(const Value* value, double factor) {
  if (const Node* mul = producer_of(value, "mul")) {
    if (is_scalar(mul->inputs[1], factor)) return mul->inputs[0];
    if (is_scalar(mul->inputs[0], factor)) return mul->inputs[1];
  }
  if (const Node* div = producer_of(value, "div")) {
    if (is_scalar(div->inputs[1], 1.0 / factor)) return div->inputs[0];
  }
  return nullptr;
}

bool is_cube(const Value* value, const Value* x) {
  if (const Node* pow = producer_of(value, "pow"))
    return pow->inputs[0] == x && is_scalar(pow->inputs[1], 3);
  const Node* mul = producer_of(value, "mul");
  if (!mul) return false;
  const Value* square = other_operand(*mul, x);
  if (const Node* inner = producer_of(square, "mul"))
    return inner->inputs[0] == x && inner->inputs[1] == x;
  const Node* pow = producer_of(square, "pow");
  return pow && pow->inputs[0] == x && is_scalar(pow->inputs[1], 2);
}

// The x of sqrt(2/pi) * (x + 0.044715 * x^3).
Value* tanh_argument(const Value* value) {
  const Node* sum = producer_of(unscaled(value, std::sqrt(2 / M_PI)), "add");
  if (!sum) return nullptr;
  for (const int side : {0, 1}) {
    Value* x = sum->inputs[static_cast<size_t>(side)];
    const Value* term = sum->inputs[static_cast<size_t>(1 - side)];
    const Value* cube = unscaled(term, 0.044715);
    if (cube && is_cube(cube, x)) return x;
  }
  return nullptr;
}

// Collects the factors of the product that `value` flows into until it holds x, 1/2 and the
// bracket. Returns the last node of the product.
Node* closing_product(const Graph& graph, Value* bracket, const Value* x) {
  bool has_x = false, has_half = false;
  Value* value = bracket;
  while (!(has_x && has_half)) {
    if (!single_use(graph, value)) return nullptr;
    Node* next = value->uses[0].node;
    const bool halves =
        next->is("div") && next->inputs[0] == value && is_scalar(next->inputs[1], 2);
    if (!next->is("mul") && !halves) return nullptr;
    const Value* factor = halves ? nullptr : other_operand(*next, value);
    if (!has_half && (halves || is_scalar(factor, 0.5))) {
      has_half = true;
    } else if (!has_x && factor == x) {
      has_x = true;
    } else if (!has_x && !has_half && factor && unscaled(factor, 0.5) == x) {
      has_x = has_half = true;
    } else {
      return nullptr;
    }
    value = next->outputs[0];
  }
  return value->producer;
}

Result<bool> rewrite(Graph& graph, Node* curve) {
  const bool exact = curve->is("erf");
  Value* x = exact ? unscaled(curve->inputs[0], std::sqrt(0.5)) : tanh_argument(curve->inputs[0]);
  if (!x || !is_float(x->type.dtype) || !single_use(graph, curve->outputs[0])) return false;
  Node* bracket = curve->outputs[0]->uses[0].node;
  if (!bracket->is("add") || !is_scalar(other_operand(*bracket, curve->outputs[0]), 1))
    return false;
  Node* last = closing_product(graph, bracket->outputs[0], x);
  if (!last || !(last->outputs[0]->type == x->type)) return false;
  Attributes attributes;
  if (!exact) attributes.set("approximate", std::string("tanh"));
  STOKER_TRY(replace_with_node(graph, last->outputs[0], *find_op("gelu"), {x}, attributes,
                               {curve, bracket, last})
                 .status());
  return true;
}

}  // namespace

Result<int> gelu(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !(node->is("erf") || node->is("tanh"))) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
