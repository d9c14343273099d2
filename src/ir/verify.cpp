// The verifier: proves what every pass and the lowering rely on.
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <unordered_set>

#include "ir/infer.h"
#include "ir/subgraphs.h"
#include "ir/text.h"

namespace stoker {
namespace {

constexpr int kMaxDepth = 32;

struct UseHash {
  size_t operator()(const std::pair<const Node*, int>& use) const {
    return std::hash<const Node*>()(use.first) * 31 + static_cast<size_t>(use.second);
  }
};

// Equal as far as both know: extents that are numbers must agree, symbols may differ in spelling.
bool compatible(const ValueType& a, const ValueType& b) {
  if (a.kind != b.kind || a.dtype != b.dtype) return false;
  if (!a.ranked || !b.ranked) return true;
  if (a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].is_const() && b.dims[i].is_const() && a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

class Verifier {
 public:
  // `scratch` gives the symbols of inference, so that the graph itself stays untouched.
  Verifier(const Graph& graph, Graph& scratch, int depth, KnownConstants known = {})
      : graph_(graph), scratch_(scratch), depth_(depth), known_(std::move(known)) {
    if (graph.parent()) sub_scratch_.set_parent(&scratch);
  }

  Status run() {
    if (depth_ > kMaxDepth) return invalid_model("graphs are nested more than {} deep", kMaxDepth);
    STOKER_TRY(check_symbols());
    STOKER_TRY(check_interface());
    STOKER_TRY(check_values());
    for (const auto& node : graph_.nodes()) {
      const Status status = check_state(*node);
      if (!status.is_ok()) return status.at(node_label(*node));
    }
    for (const auto& node : graph_.nodes()) {
      const Status status = check_node(*node);
      if (!status.is_ok()) return status.at(node_label(*node));
    }
    for (const auto& value : graph_.values()) {
      const bool defined = !value->producer || defined_.count(value.get());
      if (!defined)
        return bad("value '{}' names a producer that the graph does not hold", value->name);
    }
    if (used_slots_ != uses_.size())
      return bad("the use lists hold {} uses, the nodes {}", uses_.size(), used_slots_);
    for (const Value* value : graph_.outputs) {
      if (!value || !values_.count(value)) return bad("an output belongs to another graph");
    }
    return Status::ok();
  }

 private:
  template <class... Args>
  Status bad(fmt::format_string<Args...> text, Args&&... args) const {
    return internal_error("graph '{}': {}", graph_.name,
                          fmt::format(text, std::forward<Args>(args)...));
  }

  Status check_symbols() const {
    std::unordered_set<std::string> names;
    for (const Symbol& symbol : graph_.symbols) {
      if (!names.insert(symbol.name).second)
        return bad("symbol '{}' stands twice in the table", symbol.name);
      if (symbol.min > symbol.max)
        return bad("symbol '{}' has the empty range {}..{}", symbol.name, symbol.min, symbol.max);
    }
    return Status::ok();
  }

  Status check_interface() {
    std::unordered_set<const Value*> seen;
    for (const Value* value : graph_.inputs) {
      if (!value || value->producer || value->is_constant())
        return bad("an input has a producer or a value");
      if (!seen.insert(value).second) return bad("input '{}' stands twice", value->name);
      inputs_.insert(value);
    }
    return Status::ok();
  }

  Status check_values() {
    std::unordered_set<std::string> names;
    for (const auto& owned : graph_.values()) {
      const Value& value = *owned;
      values_.insert(&value);
      if (!names.insert(value.name).second) return bad("value name '{}' is not unique", value.name);
      if (graph_.find_value(value.name) != &value)
        return bad("value '{}' is not found by its name", value.name);
      if (!value.producer && !value.is_constant() && !inputs_.count(&value)) {
        return bad("value '{}' is neither an input, a constant nor computed", value.name);
      }
      if (value.constant) STOKER_TRY(check_constant(value));
      for (const Use& use : value.uses) {
        if (!uses_.insert({use.node, use.input}).second)
          return bad("a use of '{}' is listed twice", value.name);
        use_owner_[{use.node, use.input}] = &value;
      }
    }
    for (const Value* value : inputs_) {
      if (!values_.count(value)) return bad("an input belongs to another graph");
    }
    return Status::ok();
  }

  Status check_constant(const Value& value) const {
    const Tensor& tensor = *value.constant;
    const auto shape = constant_dims(value.type.dims);
    if (value.type.dtype != tensor.dtype() || !value.type.ranked || !shape ||
        *shape != tensor.shape()) {
      return bad("constant '{}' has type {} and a tensor {}{}", value.name, type_text(value.type),
                 dtype_name(tensor.dtype()), shape_text(tensor.shape()));
    }
    return Status::ok();
  }

  Status check_node(const Node& node) {
    if (!node.op) return bad("a node has no op");
    if (!node_names_.insert(node.name).second)
      return bad("node name '{}' is not unique", node.name);
    STOKER_TRY(check_inputs(node));
    STOKER_TRY(check_outputs(node));
    STOKER_TRY(check_attributes(*node.op, node.attributes));
    if (subgraph_count(node) > 0) return check_subgraphs(node);
    if (!node.subgraphs.empty()) return bad("only fused and control flow hold sub-graphs");
    return check_types(node);
  }

  Status check_inputs(const Node& node) {
    const int count = static_cast<int>(node.inputs.size());
    if (count < node.op->min_inputs || (node.op->max_inputs >= 0 && count > node.op->max_inputs)) {
      return bad("{} inputs, expected {} to {}", count, node.op->min_inputs, node.op->max_inputs);
    }
    for (int i = 0; i < count; ++i) {
      const Value* value = node.inputs[static_cast<size_t>(i)];
      if (!value) {
        if (i < node.op->min_inputs) return bad("input {} is left out but needed", i);
        continue;
      }
      ++used_slots_;
      if (!values_.count(value)) return bad("input {} belongs to another graph", i);
      if (value->producer && !defined_.count(value)) {
        return bad("input '{}' is used before its producer '{}'", value->name,
                   value->producer->name);
      }
      const auto owner = use_owner_.find({&node, i});
      if (owner == use_owner_.end() || owner->second != value) {
        return bad("input {} ('{}') is missing in the use list", i, value->name);
      }
    }
    return Status::ok();
  }

  Status check_outputs(const Node& node) {
    const int count = static_cast<int>(node.outputs.size());
    if (count < 1 || (node.op->output_count >= 0 && count > node.op->output_count)) {
      return bad("{} outputs, expected {}", count, node.op->output_count);
    }
    for (int i = 0; i < count; ++i) {
      const Value* value = node.outputs[static_cast<size_t>(i)];
      if (!value || !values_.count(value)) return bad("output {} belongs to another graph", i);
      if (value->producer != &node || value->output != i)
        return bad("output {} names another producer", i);
      if (value->is_constant() != node.is_constant())
        return bad("some outputs are constant, others not");
      defined_.insert(value);
    }
    if (!node.is_constant()) return Status::ok();
    for (const Value* value : node.inputs) {
      if (value && !value->is_constant())
        return bad("the output is constant, input '{}' is not", value->name);
    }
    return Status::ok();
  }

  // A state value has one writer at most.
  Status check_state(const Node& node) {
    bool writes = false;
    for (const Value* value : node.outputs) {
      writes |= value && value->type.kind == ValueType::Kind::kState;
    }
    if (!writes) return Status::ok();
    for (const Value* value : node.inputs) {
      if (!value || value->type.kind != ValueType::Kind::kState) continue;
      if (!written_.insert(value).second) return bad("state '{}' has two writers", value->name);
    }
    return Status::ok();
  }

  Status check_types(const Node& node) const {
    STOKER_ASSIGN(const InferredTypes types,
                  infer_types(node, graph_.parent() ? sub_scratch_ : scratch_, &known_));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!compatible(node.outputs[i]->type, types.outputs[i])) {
        return bad("output '{}' has type {}, inference gives {}", node.outputs[i]->name,
                   type_text(node.outputs[i]->type), type_text(types.outputs[i]));
      }
    }
    return Status::ok();
  }

  Status check_subgraphs(const Node& node) const {
    if (node.subgraphs.size() != subgraph_count(node))
      return bad("{} sub-graphs, expected {}", node.subgraphs.size(), subgraph_count(node));
    const Captures first = captures_of(node);
    const size_t hidden = hidden_outputs(node);
    for (const auto& sub : node.subgraphs) {
      if (sub->parent() != &graph_) return bad("sub-graph '{}' names another parent", sub->name);
      if (sub->inputs.size() + first.node != node.inputs.size() + first.body ||
          sub->inputs.size() < first.body || sub->outputs.size() != node.outputs.size() + hidden) {
        return bad("sub-graph '{}' has {} inputs and {} outputs, the node {} and {}", sub->name,
                   sub->inputs.size(), sub->outputs.size(), node.inputs.size(),
                   node.outputs.size());
      }
      KnownConstants known;
      for (size_t i = first.body; i < sub->inputs.size(); ++i) {
        const Value* operand = node.inputs[i - first.body + first.node];
        if (operand && operand->constant) {
          known[sub->inputs[i]] = &*operand->constant;
        } else if (operand && known_.count(operand)) {
          known[sub->inputs[i]] = known_.at(operand);
        }
        if (operand && !compatible(operand->type, sub->inputs[i]->type)) {
          return bad("operand '{}' is {}, the sub-graph takes {}", operand->name,
                     type_text(operand->type), type_text(sub->inputs[i]->type));
        }
      }
      const bool passes_outputs = node.is("if") || node.is("fused");
      for (size_t i = 0; passes_outputs && i < sub->outputs.size(); ++i) {
        if (!compatible(node.outputs[i]->type, sub->outputs[i]->type)) {
          return bad("output '{}' is {}, the sub-graph gives {}", node.outputs[i]->name,
                     type_text(node.outputs[i]->type), type_text(sub->outputs[i]->type));
        }
      }
      STOKER_TRY(Verifier(*sub, scratch_, depth_ + 1, std::move(known)).run());
    }
    return Status::ok();
  }

  const Graph& graph_;
  Graph& scratch_;
  mutable Graph sub_scratch_{"scratch"};  // stands where graph_ stands: in another graph
  int depth_;
  KnownConstants known_;
  std::unordered_set<const Value*> inputs_, values_, defined_, written_;
  std::unordered_set<std::pair<const Node*, int>, UseHash> uses_;
  std::unordered_map<std::pair<const Node*, int>, const Value*, UseHash> use_owner_;
  std::unordered_set<std::string> node_names_;
  size_t used_slots_ = 0;
};

}  // namespace

Status verify(const Graph& graph) {
  Graph scratch("scratch");
  scratch.symbols = graph.symbols;
  return Verifier(graph, scratch, 0).run();
}

}  // namespace stoker
