// SPDX-License-Identifier: Apache-2.0
#include "passes/refresh_types.h"

#include <set>

#include "ir/infer.h"

namespace stoker {
namespace {

// What is known of the values of a node, or of a graph, with the graphs inside.
class Snapshot {
 public:
  explicit Snapshot(const Node& node) { add(node); }
  explicit Snapshot(const Graph& graph) { add(graph); }
  void restore() {
    for (Known& known : known_) {
      known.value->type = std::move(known.type);
      known.value->elements = std::move(known.elements);
    }
  }

 private:
  struct Known {
    Value* value;
    ValueType type;
    std::optional<Dims> elements;
  };
  void add(Value* value) { known_.push_back({value, value->type, value->elements}); }
  void add(const Node& node) {
    for (Value* output : node.outputs) add(output);
    for (const auto& body : node.subgraphs) {
      for (Value* input : body->inputs) add(input);
      add(*body);
    }
  }
  void add(const Graph& graph) {
    for (const auto& node : graph.nodes()) add(*node);
  }
  std::vector<Known> known_;
};

class TypeRefresher {
 public:
  TypeRefresher(Graph& graph, bool names_unknown) : graph_(graph), names_unknown_(names_unknown) {}

  Status run() {
    for (const Value* input : graph_.inputs) {
      for (std::string& name : symbols_of(input->type.dims)) known_.insert(std::move(name));
    }
    for (const auto& node : graph_.nodes()) {
      if (node->is_constant()) continue;
      STOKER_TRY(refresh(node.get()));
      for (const Value* output : node->outputs) learn(output->type.dims);
      for (Value* output : node->outputs) {
        if (names_unknown_) name_unknown(*output);
      }
    }
    return Status::ok();
  }

 private:
  static std::vector<std::string> symbols_of(const Dims& dims) {
    std::vector<std::string> names;
    for (const Dim& dim : dims) {
      if (!dim.is_const()) dim.collect_symbols(names);
    }
    return names;
  }
  // A size that stands alone shows its symbol's value.
  void learn(const Dims& dims) {
    for (const Dim& dim : dims) {
      if (dim.is_symbol()) known_.insert(dim.text());
    }
  }
  // What is made of a symbol that no size shows (half of a length that is an operand's value)
  // becomes a symbol itself.
  void name_unknown(Value& value) {
    for (Dim& dim : value.type.dims) {
      if (knows({dim})) continue;
      dim = graph_.fresh_symbol();
      known_.insert(dim.text());
    }
    if (value.elements && !knows(*value.elements)) value.elements.reset();
  }
  bool knows(const Dims& dims) const {
    for (const std::string& name : symbols_of(dims)) {
      if (!known_.count(name)) return false;
    }
    return true;
  }

  Status refresh(Node* node) {
    if (!node->subgraphs.empty()) {
      infer_with_subgraphs(node);
      return Status::ok();
    }
    STOKER_ASSIGN(InferredTypes types, infer_types(*node, graph_));
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      Value* value = node->outputs[i];
      value->type = better(value->type, types.outputs[i]);
      if (types.elements[i]) value->elements = std::move(types.elements[i]);
    }
    return Status::ok();
  }

  // A branch may be impossible for the sizes that are known by now; when it is taken, its nodes say
  // so. Until then it stays as it is.
  void infer_with_subgraphs(Node* node) {
    Snapshot before(*node);
    if (!graph_.infer(node).is_ok()) before.restore();
  }

  // What inference says now, except for sizes that the present type knows better: a declaration, or
  // a size that a rewritten node no longer shows.
  ValueType better(const ValueType& present, const ValueType& inferred) const {
    if (present.kind != inferred.kind || present.dtype != inferred.dtype) return inferred;
    if (!present.ranked) return inferred;
    if (!inferred.ranked) return knows(present.dims) ? present : inferred;
    if (present.rank() != inferred.rank()) return inferred;
    ValueType type = inferred;
    for (size_t d = 0; d < type.dims.size(); ++d) {
      if (type.dims[d].is_const()) continue;
      if (knows({type.dims[d]}) && !present.dims[d].is_const()) continue;
      if (knows({present.dims[d]})) type.dims[d] = present.dims[d];
    }
    return type;
  }

  Graph& graph_;
  bool names_unknown_;
  std::set<std::string> known_;
};

}  // namespace

Status refresh_types(Graph& graph) { return TypeRefresher(graph, true).run(); }

void infer_again(Graph& graph) {
  Snapshot before(graph);
  if (!TypeRefresher(graph, false).run().is_ok()) before.restore();
}

}  // namespace stoker
