// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized.h"

#include <algorithm>

#include "passes/fuse.h"
#include "passes/match.h"

namespace stoker {
namespace {

constexpr int kMaxActivations = 3;

struct Match {
  Node* anchor = nullptr;
  std::vector<Node*> tail;  // what follows the anchor, the quantize node last
};

bool has_constant_bounds(const Node& node) {
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [](const Value* v) { return !v || v->is_constant(); });
}

bool is_constant_like(const Value* value) {
  if (!value || value->is_constant()) return value != nullptr;
  const Node* dequantize = dequantize_of(value);
  return dequantize && dequantize->inputs[0]->is_constant();
}

bool is_activation(const Node& node, const Value* in) {
  if (node.is("relu")) return true;
  if (node.is("clip")) return node.inputs[0] == in && has_constant_bounds(node);
  return node.is("add") && is_constant_like(other_operand(node, in));
}

// Walks up from a quantize node to the anchor through activations that nothing else reads.
std::optional<Match> match(const Graph& graph, Node* quantize, const QuantizedRule& rule) {
  Match m;
  m.tail = {quantize};
  Value* value = quantize->inputs[0];
  for (int i = 0; i <= kMaxActivations; ++i) {
    Node* node = value->producer;
    if (!node || node->is_constant() || !single_use(graph, value)) return std::nullopt;
    if (rule.is_anchor(*node)) {
      m.anchor = node;
      std::reverse(m.tail.begin(), m.tail.end());
      return m;
    }
    Value* in = node->inputs.empty() ? nullptr : node->inputs[0];
    if (node->is("add") && in && is_constant_like(in)) in = node->inputs[1];
    if (!in || !is_activation(*node, in)) return std::nullopt;
    m.tail.push_back(node);
    value = in;
  }
  return std::nullopt;
}

bool inputs_fit(const Node& anchor, const QuantizedRule& rule) {
  if (anchor.inputs.size() < rule.dequantized_inputs || anchor.outputs.size() != 1) return false;
  for (size_t i = 0; i < rule.dequantized_inputs; ++i) {
    if (!dequantize_of(anchor.inputs[i])) return false;
  }
  for (size_t i = rule.dequantized_inputs; i < anchor.inputs.size(); ++i) {
    if (anchor.inputs[i] && !is_constant_like(anchor.inputs[i])) return false;
  }
  return !rule.constant_weight || dequantize_of(anchor.inputs[1])->inputs[0]->is_constant();
}

// The dequantize nodes in front of `node`; one that others read too is copied, so that each fused
// node reads integers.
Status take_dequantizes(Graph& graph, Node* node, std::vector<Node*>& members) {
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    Node* dequantize = dequantize_of(node->inputs[i]);
    if (!dequantize || std::find(members.begin(), members.end(), dequantize) != members.end())
      continue;
    if (!single_use(graph, dequantize->outputs[0]))
      dequantize = own_dequantize(graph, dequantize, node, i);
    members.push_back(dequantize);
  }
  return Status::ok();
}

}  // namespace

Node* own_dequantize(Graph& graph, const Node* dequantize, Node* reader, size_t first) {
  Node* copy = graph.add_node(*dequantize->op, dequantize->inputs, dequantize->attributes, 1,
                              reader, dequantize->name);
  copy->origins = dequantize->origins;
  copy->outputs[0]->type = dequantize->outputs[0]->type;
  const Value* shared = dequantize->outputs[0];
  for (size_t j = first; j < reader->inputs.size(); ++j) {
    if (reader->inputs[j] == shared) graph.set_input(reader, static_cast<int>(j), copy->outputs[0]);
  }
  return copy;
}

bool has_constant_scales(const Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1] || !node.inputs[1]->is_constant()) return false;
  return node.inputs.size() < 3 || !node.inputs[2] || node.inputs[2]->is_constant();
}

Node* dequantize_of(const Value* value) {
  Node* node = producer_of(value, "dequantize_linear");
  return node && has_constant_scales(*node) ? node : nullptr;
}

bool same_scales(const Node& quantize, const Node& dequantize) {
  const auto scale_q = scalar_constant(quantize.inputs[1]);
  const auto scale_d = scalar_constant(dequantize.inputs[1]);
  if (!scale_q || !scale_d || *scale_q != *scale_d || !(*scale_q > 0)) return false;
  const auto zero_of = [](const Node& node) -> std::optional<double> {
    if (node.inputs.size() < 3 || !node.inputs[2]) return 0.0;
    return scalar_constant(node.inputs[2]);
  };
  const auto zero_q = zero_of(quantize), zero_d = zero_of(dequantize);
  return zero_q && zero_d && *zero_q == *zero_d &&
         quantize.outputs[0]->type.dtype == dequantize.inputs[0]->type.dtype;
}

Result<int> fuse_quantized(Graph& graph, const PassContext& context, const QuantizedRule& rule) {
  int changes = 0;
  for (Node* quantize : node_snapshot(graph)) {
    if (!quantize->is("quantize_linear") || quantize->is_constant() ||
        !has_constant_scales(*quantize))
      continue;
    const auto m = match(graph, quantize, rule);
    if (!m || !inputs_fit(*m->anchor, rule)) continue;
    std::vector<Node*> members;
    STOKER_TRY(take_dequantizes(graph, m->anchor, members));
    members.push_back(m->anchor);
    for (Node* node : m->tail) {
      std::vector<Node*> constants;
      STOKER_TRY(take_dequantizes(graph, node, constants));
      for (Node* dequantize : constants) {
        // The chain itself holds no dequantize node: these are constant operands.
        members.push_back(dequantize);
      }
      members.push_back(node);
    }
    changes += fuse_if_supported(graph, members, rule.name, context) != nullptr;
  }
  return changes;
}

}  // namespace stoker
