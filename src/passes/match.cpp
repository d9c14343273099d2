// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/numeric.h"

namespace stoker {

Node* producer_of(const Value* value, std::string_view op) {
  if (!value || !value->producer || value->is_constant() || !value->producer->is(op))
    return nullptr;
  return value->producer;
}

bool is_scalar(const Value* value, double expected) {
  const auto found = scalar_constant(value);
  if (!found) return false;
  const bool exact = 2 * expected == std::floor(2 * expected);  // 1, 3, 0.5 hold in every dtype
  if (exact) return *found == expected;
  const DType dtype = value->constant->dtype();
  // Exporters write constants such as sqrt(2) with five digits and more.
  const double tolerance = dtype == DType::kF16 || dtype == DType::kBF16 ? 4e-3 : 2e-5;
  return std::abs(*found - expected) <= tolerance * std::abs(expected);
}

bool single_use(const Graph& graph, const Value* value) {
  return value->uses.size() == 1 && !graph.is_output(value);
}

std::optional<std::vector<int64_t>> reduce_axes(const Node& node) {
  if (node.inputs.empty() || !node.inputs[0] || !node.inputs[0]->type.ranked) return std::nullopt;
  const int64_t rank = node.inputs[0]->type.rank();
  std::vector<int64_t> axes;
  if (node.inputs.size() > 1 && node.inputs[1]) {
    const auto given = constant_ints(node.inputs[1]);
    if (!given) return std::nullopt;
    axes = *given;
  } else if (node.attributes.has("axes")) {
    axes = node.attributes.get_ints("axes");
  }
  if (axes.empty() && node.attributes.get_int("noop_with_empty_axes", 0) == 0) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::vector<int64_t> permutation_of(const Node& transpose) {
  auto perm = transpose.attributes.get_ints("perm");
  if (perm.empty()) {
    perm.resize(transpose.inputs[0]->type.dims.size());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  return perm;
}

Value* other_operand(const Node& node, const Value* value) {
  if (node.inputs.size() != 2) return nullptr;
  if (node.inputs[0] == value) return node.inputs[1];
  return node.inputs[1] == value ? node.inputs[0] : nullptr;
}

bool replace_value(Graph& graph, Value* from, Value* to) {
  if (graph.is_output(from)) {
    const bool source = !to->producer;
    if (source || graph.is_output(to)) return false;
    const std::string name = from->name;
    to->origin = from->origin;
    graph.replace_all_uses(from, to);
    graph.rename(from, graph.fresh_name(name + "_replaced"));
    graph.rename(to, name);
    return true;
  }
  graph.replace_all_uses(from, to);
  return true;
}

Result<Node*> replace_with_node(Graph& graph, Value* old, const Op& op, std::vector<Value*> inputs,
                                Attributes attributes, const std::vector<const Node*>& replaced) {
  Node* node = graph.add_node(op, std::move(inputs), std::move(attributes), 1, old->producer);
  for (const Node* gone : replaced) append_origins(node, *gone);
  STOKER_TRY(graph.infer(node));
  const std::string name = old->name;
  Value* fresh = node->outputs[0];
  fresh->origin = old->origin;
  graph.replace_all_uses(old, fresh);
  graph.rename(old, graph.fresh_name(name + "_replaced"));
  graph.rename(fresh, name);
  return node;
}

namespace {

// Whether a node between the inputs of an expression and its end rounds to a narrow float.
bool rounds_inside(const Node& last, const std::vector<Value*>& inputs) {
  std::unordered_set<const Node*> seen{&last};
  std::vector<const Node*> open{&last};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    const ValueType& type = node->outputs[0]->type;
    const bool selects = node->is("min") || node->is("max");
    if (node != &last && !selects && is_float(type.dtype) && dtype_bits(type.dtype) < 32)
      return true;
    for (const Value* input : node->inputs) {
      if (!input || !input->producer || input->is_constant()) continue;
      if (std::find(inputs.begin(), inputs.end(), input) != inputs.end()) continue;
      if (seen.insert(input->producer).second) open.push_back(input->producer);
    }
  }
  return false;
}

}  // namespace

Result<bool> replace_expression(Graph& graph, Node* last, std::string_view op_name,
                                std::vector<Value*> inputs, Attributes attributes) {
  if (rounds_inside(*last, inputs)) return false;
  STOKER_TRY(
      absorb_expression(graph, last, op_name, std::move(inputs), std::move(attributes)).status());
  return true;
}

Result<Node*> absorb_expression(Graph& graph, Node* last, std::string_view op_name,
                                std::vector<Value*> inputs, Attributes attributes) {
  STOKER_ASSIGN(Node * fresh, replace_with_node(graph, last->outputs[0], *find_op(op_name),
                                                std::move(inputs), std::move(attributes), {}));
  std::vector<const Node*> dead{last};
  const auto is_dead = [&](const Value* value) {
    return !graph.is_output(value) &&
           std::all_of(value->uses.begin(), value->uses.end(), [&](const Use& use) {
             return std::find(dead.begin(), dead.end(), use.node) != dead.end();
           });
  };
  // A node dies when all its users have, so it may be met several times before.
  for (size_t i = 0; i < dead.size(); ++i) {
    for (const Value* input : dead[i]->inputs) {
      const Node* node = input ? input->producer : nullptr;
      if (!node || node->is_constant() || std::find(dead.begin(), dead.end(), node) != dead.end())
        continue;
      if (std::all_of(node->outputs.begin(), node->outputs.end(), is_dead)) dead.push_back(node);
    }
  }
  for (size_t i = dead.size(); i-- > 0;) append_origins(fresh, *dead[i]);
  return fresh;
}

Result<Node*> insert_node(Graph& graph, Node* before, std::string_view op_name,
                          std::vector<Value*> inputs, Attributes attributes,
                          const std::string& name) {
  const Op* op = find_op(op_name);
  if (!op) return internal_error("there is no op '{}'", op_name);
  Node* node = graph.add_node(*op, std::move(inputs), std::move(attributes), 1, before, name);
  STOKER_TRY(graph.infer(node));
  return node;
}

void append_origins(Node* node, const Node& from) {
  for (const std::string& origin : from.origins) {
    const auto& have = node->origins;
    if (std::find(have.begin(), have.end(), origin) == have.end()) node->origins.push_back(origin);
  }
}

std::string origins_text(const Node& node) {
  std::string text;
  for (const std::string& origin : node.origins) text += (text.empty() ? "" : " + ") + origin;
  return text.empty() ? node.name : text;
}

std::vector<Node*> node_snapshot(const Graph& graph) {
  std::vector<Node*> nodes;
  nodes.reserve(graph.nodes().size());
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  return nodes;
}

}  // namespace stoker
