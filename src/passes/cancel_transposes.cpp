// Pulls transposes through pointwise operations into a later transpose, where that leaves fewer of
// them: transpose -> relu -> add constant -> transpose becomes relu -> add (transposed) constant.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

using Permutation = std::vector<int64_t>;

constexpr size_t kMaxPulled = 64;

Permutation inverse(const Permutation& perm) {
  Permutation result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

// The permutation of transpose(transpose(x, first), second).
Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation result;
  for (const int64_t axis : second) result.push_back(first[static_cast<size_t>(axis)]);
  return result;
}

bool is_identity(const Permutation& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool one_element(const Value* value) {
  const auto one = [](const Dim& d) { return d == Dim(1); };
  return value->type.ranked && std::all_of(value->type.dims.begin(), value->type.dims.end(), one);
}

bool passes_transposes(const Node& node) {
  if (node.is_constant() || !node.op->pointwise || !node.op->deterministic ||
      node.outputs.size() != 1 || !node.outputs[0]->type.ranked)
    return false;
  if (!node.is("quantize_linear") && !node.is("dequantize_linear")) return true;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && !one_element(node.inputs[i])) return false;
  }
  return node.attributes.get_int("block_size", 0) == 0;
}

// What a value that reaches the later transpose is made of.
class Pull {
 public:
  Pull(Graph& graph, Node* last) : graph_(graph), last_(last) {}

  Result<bool> run() {
    Value* value = last_->inputs[0];
    if (!value->type.ranked || !collect(value) || nodes_.empty() || transposes_.empty())
      return false;
    const Permutation whole = composed(perm_, permutation_of(*last_));
    if (!is_identity(whole) && !all_die()) return false;
    return rewrite(whole);
  }

 private:
  bool collect(Value* value) {
    if (seen_.count(value)) return true;
    if (Node* transpose = producer_of(value, "transpose")) {
      const Permutation perm = permutation_of(*transpose);
      if (!transposes_.empty() && perm != perm_) return false;
      perm_ = perm;
      transposes_.push_back(transpose);
      seen_.insert(value);
      return true;
    }
    if (one_element(value)) return value->is_constant() || value->type.rank() == 0;
    if (value->is_constant()) return value->type.rank() == last_->inputs[0]->type.rank();
    Node* node = value->producer;
    if (!node || !passes_transposes(*node) || !single_user(value)) return false;
    if (nodes_.size() >= kMaxPulled || value->type.rank() != last_->inputs[0]->type.rank())
      return false;
    seen_.insert(value);
    for (Value* input : node->inputs) {
      if (input && !collect(input)) return false;
    }
    nodes_.push_back(node);
    return true;
  }

  bool single_user(const Value* value) const {
    return !graph_.is_output(value) &&
           std::all_of(value->uses.begin(), value->uses.end(),
                       [&](const Use& use) { return use.node == value->uses[0].node; });
  }

  // Will no first transpose be left?
  bool all_die() const {
    return std::all_of(transposes_.begin(), transposes_.end(), [&](const Node* transpose) {
      const Value* value = transpose->outputs[0];
      return !graph_.is_output(value) &&
             std::all_of(value->uses.begin(), value->uses.end(), [&](const Use& use) {
               return std::find(nodes_.begin(), nodes_.end(), use.node) != nodes_.end();
             });
    });
  }

  Result<Value*> pulled(Value* value) {
    if (!value || one_element(value)) return value;
    if (const auto it = made_.find(value); it != made_.end()) return it->second;
    Value* result = nullptr;
    if (const Node* transpose = producer_of(value, "transpose")) {
      result = transpose->inputs[0];
    } else {
      STOKER_ASSIGN(Node * moved, insert_node(graph_, last_, "transpose", {value},
                                              {{"perm", Attribute(inverse(perm_))}}));
      result = moved->outputs[0];
    }
    made_[value] = result;
    return result;
  }

  Result<bool> rewrite(const Permutation& whole) {
    for (Node* node : nodes_) {
      std::vector<Value*> inputs;
      for (Value* input : node->inputs) {
        STOKER_ASSIGN(Value * operand, pulled(input));
        inputs.push_back(operand);
      }
      Node* copy = graph_.add_node(*node->op, inputs, node->attributes, 1, last_);
      copy->origins = node->origins;
      STOKER_TRY(graph_.infer(copy));
      made_[node->outputs[0]] = copy->outputs[0];
    }
    Value* result = made_.at(last_->inputs[0]);
    append_origins(result->producer, *last_);
    if (!is_identity(whole)) {
      STOKER_TRY(replace_with_node(graph_, last_->outputs[0], *last_->op, {result},
                                   {{"perm", Attribute(whole)}}, {last_})
                     .status());
    } else if (!replace_value(graph_, last_->outputs[0], result)) {
      return internal_error("output of '{}' cannot be renamed", last_->name);
    }
    return true;
  }

  Graph& graph_;
  Node* last_;
  Permutation perm_;
  std::vector<Node*> transposes_;
  std::vector<Node*> nodes_;  // pointwise, in an order in which operands come first
  std::unordered_set<const Value*> seen_;
  std::unordered_map<const Value*, Value*> made_;
};

}  // namespace

Result<int> cancel_transposes(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !node->is("transpose")) continue;
    STOKER_ASSIGN(const bool changed, Pull(graph, node).run());
    if (!changed) continue;
    graph.erase(node);
    ++changes;
  }
  return changes;
}

}  // namespace stoker
