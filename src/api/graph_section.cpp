// SPDX-License-Identifier: Apache-2.0
#include "api/graph_section.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "lower/lower_graph.h"
#include "passes/fuse.h"
#include "passes/match.h"
#include "passes/pipeline.h"
#include "plan/bind.h"

namespace stoker {
namespace {

// Of constants that are no weights: scales and zero points of every channel, tables of indices.
constexpr int64_t kInlineElements = 65536;

Result<Tensor> canonical_weight(const EngineContents& contents, int32_t index,
                                const SymbolValues& symbols) {
  const PlanWeight& weight = contents.weights[static_cast<size_t>(index)];
  if (!weight.bytes.defined())
    return unsupported("the engine waits for its weights: refit it first, then build from it");
  if (weight.packing == Packing::kNone) return weight.bytes;
  STOKER_ASSIGN(const WeightUse use, use_of_weight(contents, index, symbols));
  return unpack_weight(use.desc, use.operand, weight.packing, weight.bytes);
}

void collect_graphs(Graph& graph, std::vector<Graph*>& graphs) {
  graphs.push_back(&graph);
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->subgraphs) collect_graphs(*body, graphs);
  }
}

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

// Constants by the weight that lowering made of them, which has the constant's name. Names are
// unique in a graph only: where several graphs have one, the content decides.
class HeldConstants {
 public:
  HeldConstants(const Graph& graph, const EngineContents& contents)
      : contents_(contents), symbols_(optimum_of(contents)) {
    for (size_t w = 0; w < contents.weights.size(); ++w) {
      if (contents.weights[w].recipe.result >= 0)
        weights_.emplace(contents.weights[w].name, static_cast<int32_t>(w));
    }
    collect(graph);
  }

  Result<std::unordered_map<const Value*, int32_t>> run() {
    std::unordered_map<const Value*, int32_t> held;
    for (const auto& [name, values] : constants_) {
      for (const Value* value : values) {
        STOKER_ASSIGN(const int32_t weight, weight_of(*value, values.size() > 1));
        if (weight >= 0) held.emplace(value, weight);
      }
    }
    return held;
  }

 private:
  void collect(const Graph& graph) {
    for (const auto& value : graph.values()) {
      if (value->is_constant() && weights_.count(value->name) > 0)
        constants_[value->name].push_back(value.get());
    }
    for (const auto& node : graph.nodes()) {
      for (const auto& body : node->subgraphs) collect(*body);
    }
  }

  // -1: none.
  Result<int32_t> weight_of(const Value& value, bool compare) const {
    const auto [begin, end] = weights_.equal_range(value.name);
    for (auto it = begin; it != end; ++it) {
      const PlanWeight& weight = contents_.weights[static_cast<size_t>(it->second)];
      if (weight.dtype != value.constant->dtype() || weight.shape != value.constant->shape())
        continue;
      if (!compare) return it->second;
      STOKER_ASSIGN(const Tensor content, canonical_weight(contents_, it->second, symbols_));
      if (same_content(content, *value.constant)) return it->second;
    }
    return -1;
  }

  const EngineContents& contents_;
  const SymbolValues symbols_;
  std::multimap<std::string, int32_t> weights_;
  std::map<std::string, std::vector<const Value*>> constants_;
};

// Reads the constants of an engine's graph. Those that it lacks become zeros, which only what is
// dropped afterwards may read.
class GraphReader {
 public:
  explicit GraphReader(const EngineContents& contents)
      : contents_(contents), symbols_(optimum_of(contents)) {}

  Result<std::unique_ptr<Graph>> run() {
    if (contents_.graph_text.empty()) {
      return unsupported(
          "the engine was built --lean: it keeps no graph to build from; build from the model");
    }
    STOKER_ASSIGN(auto graph, parse_graph(contents_.graph_text,
                                          [this](const ConstantReference& r) { return find(r); }));
    STOKER_TRY(verify(*graph).at("the graph"));
    STOKER_TRY(unfuse(*graph).status());
    std::vector<Graph*> graphs;
    collect_graphs(*graph, graphs);
    for (Graph* part : graphs) STOKER_TRY(drop_recipes(*part));
    STOKER_TRY(run_pass(*find_pass("dce"), *graph, {}).status());
    graphs.clear();
    collect_graphs(*graph, graphs);
    for (const Graph* part : graphs) STOKER_TRY(check_complete(*part));
    STOKER_TRY(name_ports(*graph));
    return graph;
  }

 private:
  Result<Tensor> find(const ConstantReference& reference) {
    if (reference.weight >= 0) {
      if (reference.weight >= static_cast<int64_t>(contents_.weights.size())) {
        return corrupt_file("weight {} of {}", reference.weight, contents_.weights.size());
      }
      return canonical_weight(contents_, static_cast<int32_t>(reference.weight), symbols_);
    }
    STOKER_ASSIGN(const int64_t count, element_count(reference.shape));
    STOKER_ASSIGN(const int64_t bytes, byte_size(reference.dtype, count));
    missing_bytes_ += bytes;
    if (missing_bytes_ > kMaxMissingBytes)
      return error(StatusCode::kResourceExhausted, "constants of more than {} bytes",
                   kMaxMissingBytes);
    STOKER_ASSIGN(Tensor zeros, Tensor::allocate(reference.dtype, reference.shape));
    if (count > 0) missing_.insert(zeros.data());
    return zeros;
  }

  bool is_missing(const Value& value) const { return missing_.count(value.constant->data()) > 0; }

  // A matrix is held once, however often it is read transposed: the node makes the constant again,
  // and stays. False: there is nothing to make.
  Result<bool> make_missing(Node& node) {
    const auto lacks = [&](const Value* value) { return value && is_missing(*value); };
    if (!std::any_of(node.outputs.begin(), node.outputs.end(), lacks)) return false;
    if (std::any_of(node.inputs.begin(), node.inputs.end(), lacks)) return false;
    std::vector<Tensor> inputs;
    for (const Value* input : node.inputs) inputs.push_back(input ? *input->constant : Tensor());
    STOKER_ASSIGN(std::vector<Tensor> outputs, evaluate_op(*node.op, node.attributes, inputs,
                                                           static_cast<int>(node.outputs.size())));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& said = *node.outputs[i]->constant;
      if (outputs[i].dtype() != said.dtype() || outputs[i].shape() != said.shape())
        return corrupt_file("constant '{}' is not what makes it", node.outputs[i]->name);
      node.outputs[i]->constant = std::move(outputs[i]);
    }
    return true;
  }

  // What recipes made becomes a constant of its own.
  Status drop_recipes(Graph& graph) {
    for (Node* node : node_snapshot(graph)) {
      if (!node->is_constant()) continue;
      const Result<bool> made_here = make_missing(*node);
      if (!made_here) return made_here.status().at(node->name);
      if (*made_here) continue;
      for (Value* made : node->outputs) {
        if ((made->uses.empty() && !graph.is_output(made)) || is_missing(*made)) continue;
        Value* constant =
            graph.add_constant(graph.fresh_name(made->name), *made->constant, made->name);
        constant->elements = made->elements;
        graph.replace_all_uses(made, constant);
      }
    }
    return Status::ok();
  }

  Status check_complete(const Graph& graph) const {
    for (const auto& value : graph.values()) {
      if (!value->is_constant() || !is_missing(*value)) continue;
      return unsupported(
          "the engine does not hold the constant '{}', which its graph needs: build from the model",
          value->name);
    }
    return Status::ok();
  }

  // Callers know inputs and outputs by the model's names.
  Status name_ports(Graph& graph) const {
    const PlanProgram& main = contents_.programs.front();
    if (graph.inputs.size() != main.inputs.size() || graph.outputs.size() != main.outputs.size())
      return corrupt_file("the graph has {} inputs and {} outputs, the plan {} and {}",
                          graph.inputs.size(), graph.outputs.size(), main.inputs.size(),
                          main.outputs.size());
    std::set<const Value*> named;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      graph.inputs[i]->origin = main.inputs[i].name;
      named.insert(graph.inputs[i]);
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (!named.insert(graph.outputs[i]).second) {  // an input, or an output of several names
        Node* copy = graph.add_node(*find_op("identity"), {graph.outputs[i]});
        STOKER_TRY(graph.infer(copy));
        graph.outputs[i] = copy->outputs[0];
      }
      graph.outputs[i]->origin = main.outputs[i].name;
    }
    return Status::ok();
  }

  static constexpr int64_t kMaxMissingBytes = int64_t{1} << 36;

  const EngineContents& contents_;
  const SymbolValues symbols_;
  std::set<const void*> missing_;
  int64_t missing_bytes_ = 0;
};

}  // namespace

Result<std::string> graph_section(const Graph& graph, const EngineContents& contents) {
  PrintOptions options;
  options.open = open_sources(contents.sources);
  options.inline_elements = kInlineElements;
  STOKER_ASSIGN(options.weights, HeldConstants(graph, contents).run());
  return print(graph, options);
}

Result<std::unique_ptr<Graph>> graph_of(const EngineContents& contents) {
  return GraphReader(contents).run();
}

}  // namespace stoker
