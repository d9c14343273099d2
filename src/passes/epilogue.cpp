// SPDX-License-Identifier: Apache-2.0
#include "passes/epilogue.h"

#include <algorithm>

#include "passes/fuse.h"
#include "passes/match.h"

namespace stoker {
namespace {

constexpr size_t kMaxMembers = 32;
constexpr int kMaxSideChain = 8;

bool joins(const Node& node, const Value& tip) {
  if (!node.op->pointwise || !node.op->deterministic || node.outputs.size() != 1 ||
      node.is_constant())
    return false;
  if (node.is("quantize_linear") || node.is("dequantize_linear")) return false;
  const ValueType& type = node.outputs[0]->type;
  return type.kind == ValueType::Kind::kTensor && type.ranked && type.dims == tip.type.dims &&
         type.dtype != DType::kString;
}

// One element, or a vector along one dim.
bool is_thin(const Dims& dims) {
  return std::count_if(dims.begin(), dims.end(), [](const Dim& d) { return d != Dim(1); }) <= 1;
}

// Operands from outside: constants of any broadcast shape, or tensors of exactly the tip's shape,
// or scales and biases that are computed.
bool operands_fit(const Node& node, const Value& tip, const Value* inside) {
  for (const Value* value : node.inputs) {
    if (!value || value == inside || value == &tip || value->is_constant()) continue;
    if (!value->type.ranked) return false;
    if (!(value->type.dims == tip.type.dims) && !is_thin(value->type.dims)) return false;
  }
  return true;
}

// tip -> unary ... -> closing, beside tip -> closing: x * sigmoid(x) and its kind.
bool side_chain(const Graph& graph, const Value& tip, Node* first, const Node* closing,
                std::vector<Node*>& nodes) {
  Node* node = first;
  const Value* inside = &tip;
  for (int i = 0; i < kMaxSideChain; ++i) {
    if (!joins(*node, tip) || !operands_fit(*node, tip, inside)) return false;
    nodes.push_back(node);
    inside = node->outputs[0];
    if (!single_use(graph, inside)) return false;
    node = inside->uses[0].node;
    if (node == closing) return true;
  }
  return false;
}

// The nodes by which the group can grow from `tip`, in graph order; empty when it cannot.
std::vector<Node*> next_step(const Graph& graph, const Value& tip) {
  if (tip.uses.empty() || graph.is_output(&tip)) return {};
  std::vector<Node*> users;
  for (const Use& use : tip.uses) {
    if (std::find(users.begin(), users.end(), use.node) == users.end()) users.push_back(use.node);
  }
  if (users.size() == 1) {
    if (!joins(*users[0], tip) || !operands_fit(*users[0], tip, nullptr)) return {};
    return users;
  }
  if (users.size() != 2) return {};
  for (const size_t side : {size_t{0}, size_t{1}}) {
    Node *first = users[side], *closing = users[1 - side];
    std::vector<Node*> nodes;
    if (!side_chain(graph, tip, first, closing, nodes) || !joins(*closing, tip)) continue;
    if (!operands_fit(*closing, tip, nodes.back()->outputs[0])) continue;
    nodes.push_back(closing);
    return nodes;
  }
  return {};
}

// Why the group does not grow past `tip`, told for the pointwise nodes that read it; empty when
// none does.
std::string stop_reason(const Graph& graph, const Value& tip, const Node** user) {
  std::vector<const Node*> users;
  for (const Use& use : tip.uses) {
    if (std::find(users.begin(), users.end(), use.node) == users.end()) users.push_back(use.node);
    if (use.node->op->pointwise && !use.node->is("quantize_linear")) *user = use.node;
  }
  if (!*user) return "";
  if (graph.is_output(&tip)) return fmt::format("'{}' is an output of the graph", tip.name);
  if (users.size() > 1) return fmt::format("{} nodes read '{}'", users.size(), tip.name);
  if (!joins(**user, tip))
    return fmt::format("'{}' has another shape than '{}'", (*user)->outputs[0]->name, tip.name);
  return fmt::format("another operand of '{}' is no constant and has another shape",
                     (*user)->name);
}

// `members`: the anchor, behind its head if it has one.
Result<int> fuse_anchor(Graph& graph, std::vector<Node*> members, const PassContext& context,
                        const std::string& name) {
  std::vector<size_t> cuts;  // sizes after each step: where the chain may end
  if (members.size() > 1) cuts.push_back(members.size());
  while (members.size() < kMaxMembers) {
    const auto step = next_step(graph, *members.back()->outputs[0]);
    if (step.empty()) {
      const Node* user = nullptr;
      const Value& tip = *members.back()->outputs[0];
      const std::string reason = stop_reason(graph, tip, &user);
      if (!reason.empty() && context.refusals)
        context.refusals->push_back({name, origins_text(*user), reason});
      break;
    }
    members.insert(members.end(), step.begin(), step.end());
    cuts.push_back(members.size());
  }
  while (!cuts.empty()) {
    std::vector<Node*> chosen(members.begin(),
                              members.begin() + static_cast<ptrdiff_t>(cuts.back()));
    const size_t size = chosen.size();
    if (fuse_if_supported(graph, chosen, name, context)) return 1;
    // Refused: the nodes were put back as copies.
    std::copy(chosen.begin(), chosen.end(), members.begin());
    STOKER_CHECK(chosen.size() == size);
    cuts.pop_back();
  }
  return 0;
}

}  // namespace

Result<int> fuse_epilogues(Graph& graph, const PassContext& context, IsAnchor is_anchor,
                           const std::string& name, HeadOf head) {
  int changes = 0;
  std::vector<Node*> anchors;
  for (const auto& node : graph.nodes()) {
    const bool usable = is_anchor(*node) && !node->is_constant() && node->outputs.size() == 1 &&
                        node->outputs[0]->type.ranked;
    if (usable) anchors.push_back(node.get());
  }
  for (Node* anchor : anchors) {
    std::vector<Node*> members{anchor};
    if (head) {
      Node* first = head(graph, anchor);
      if (!first) continue;
      members.insert(members.begin(), first);
    }
    STOKER_ASSIGN(const int fused, fuse_anchor(graph, std::move(members), context, name));
    changes += fused;
  }
  return changes;
}

}  // namespace stoker
