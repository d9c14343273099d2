// x * 0.5 * (1 + erf(x / sqrt(2))) in the orders in which exporters multiply -> gelu, and the tanh
// form 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) -> gelu(approximate="tanh"). (The
// form with a sigmoid is swish.)
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

// number * factor * factor ...: what a tree of products and powers multiplies.
struct Product {
  double number = 1;
  std::vector<Value*> factors;
};

constexpr int kMaxDepth = 6;

void flatten(Value* value, Product& product, int depth = 0) {
  const auto number = scalar_constant(value);
  const Node* pow = producer_of(value, "pow");
  const Node* mul = producer_of(value, "mul");
  if (number) {
    product.number *= *number;
  } else if (pow && (is_scalar(pow->inputs[1], 2) || is_scalar(pow->inputs[1], 3))) {
    const auto times = static_cast<size_t>(*scalar_constant(pow->inputs[1]));
    product.factors.insert(product.factors.end(), times, pow->inputs[0]);
  } else if (mul && depth < kMaxDepth) {
    flatten(mul->inputs[0], product, depth + 1);
    flatten(mul->inputs[1], product, depth + 1);
  } else {
    product.factors.push_back(value);
  }
}

bool near(double found, double expected, DType dtype) {
  const double tolerance = dtype == DType::kF16 || dtype == DType::kBF16 ? 4e-3 : 2e-5;
  return std::abs(found - expected) <= tolerance * expected;
}

// Is the value 0.044715 * x * x ..., with x so many times?
bool is_cubic_term(Value* value, const Value* x, size_t times) {
  Product term;
  flatten(value, term);
  return near(term.number, 0.044715, x->type.dtype) && term.factors.size() == times &&
         std::all_of(term.factors.begin(), term.factors.end(),
                     [&](const Value* factor) { return factor == x; });
}

// The x of sqrt(2/pi) * (x + 0.044715 * x^3) or sqrt(2/pi) * x * (1 + 0.044715 * x^2).
Value* tanh_argument(Value* value) {
  Product whole;
  flatten(value, whole);
  if (!near(whole.number, std::sqrt(2 / M_PI), value->type.dtype)) return nullptr;
  if (whole.factors.empty() || whole.factors.size() > 2) return nullptr;
  const bool bracketed = whole.factors.size() == 2;
  for (size_t i = 0; i < whole.factors.size(); ++i) {
    const Node* sum = producer_of(whole.factors[i], "add");
    if (!sum) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      Value* first = sum->inputs[side];
      Value* x = bracketed ? whole.factors[1 - i] : first;
      if (bracketed && !is_scalar(first, 1)) continue;
      if (is_cubic_term(sum->inputs[1 - side], x, bracketed ? 2 : 3)) return x;
    }
  }
  return nullptr;
}

// Collects the factors of the product that `value` flows into until it holds x, 1/2 and the
// bracket. Returns the last node of the product.
Node* closing_product(const Graph& graph, Value* bracket, const Value* x, bool has_half) {
  bool has_x = false;
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
  // 1 + curve, or 0.5 + 0.5 * curve.
  Value* inside = curve->outputs[0];
  Node* bracket = inside->uses[0].node;
  const bool halved = bracket->is("mul") && is_scalar(other_operand(*bracket, inside), 0.5);
  if (halved) {
    inside = bracket->outputs[0];
    if (!single_use(graph, inside)) return false;
    bracket = inside->uses[0].node;
  }
  if (!bracket->is("add") || !is_scalar(other_operand(*bracket, inside), halved ? 0.5 : 1))
    return false;
  Node* last = closing_product(graph, bracket->outputs[0], x, halved);
  if (!last || !(last->outputs[0]->type == x->type)) return false;
  Attributes attributes;
  if (!exact) attributes.set("approximate", std::string("tanh"));
  return replace_expression(graph, last, "gelu", {x}, attributes);
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
