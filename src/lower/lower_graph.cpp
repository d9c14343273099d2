// SPDX-License-Identifier: Apache-2.0
#include "lower/lower_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lower/emit.h"
#include "lower/segments.h"

namespace stoker {
namespace {

// A size nobody gave: 1 for a batch (the first dim), 128 for anything else.
int64_t guess_optimum(const Graph& graph, const std::string& symbol) {
  for (const Value* input : graph.inputs) {
    if (!input->type.dims.empty() && input->type.dims[0].text() == symbol) return 1;
  }
  return 128;
}

// Guesses beyond this many elements of one input make sample data too large to run on.
constexpr int64_t kMaxGuessedElements = int64_t{1} << 22;

bool any_input_is_huge(const Graph& graph, const EngineContents& contents) {
  const SymbolValues symbols = optimum_of(contents);
  for (const Value* input : graph.inputs) {
    const auto dims = evaluate_dims(input->type.dims, symbols);
    const auto count = dims ? element_count(*dims) : Result<int64_t>(dims.status());
    if (!count || *count > kMaxGuessedElements) return true;
  }
  return false;
}

// Halves the guessed sizes until the inputs are of a size to try out.
void shrink_guesses(const Graph& graph, const std::set<std::string>& guessed,
                    EngineContents& contents) {
  for (bool shrunk = true; shrunk && any_input_is_huge(graph, contents);) {
    shrunk = false;
    for (PlanSymbol& symbol : contents.symbols) {
      if (!guessed.count(symbol.name) || symbol.optimum / 2 < std::max<int64_t>(symbol.min, 1))
        continue;
      symbol.optimum /= 2;
      shrunk = true;
    }
  }
}

}  // namespace

void collect_symbols(const Graph& graph, const LowerOptions& options, EngineContents& contents) {
  std::vector<std::string> names;
  for (const Value* input : graph.inputs) {
    for (const Dim& dim : input->type.dims) dim.collect_symbols(names);
  }
  std::set<std::string> guessed;
  for (const std::string& name : names) {
    PlanSymbol symbol;
    symbol.name = name;
    symbol.optimum = guess_optimum(graph, name);
    guessed.insert(name);
    if (const Symbol* declared = graph.find_symbol(name)) {
      symbol.kind =
          declared->kind == Symbol::Kind::kStep ? PlanSymbol::Kind::kStep : PlanSymbol::Kind::kBind;
      symbol.min = declared->min;
      symbol.max = declared->max;
    }
    if (const auto it = options.profile.find(name); it != options.profile.end()) {
      symbol.optimum = it->second.optimum;
      guessed.erase(name);
      symbol.min = std::max(symbol.min, it->second.min);
      symbol.max = std::min(symbol.max, it->second.max);
    }
    symbol.optimum = std::clamp(symbol.optimum, std::max<int64_t>(symbol.min, 0), symbol.max);
    contents.symbols.push_back(std::move(symbol));
  }
  shrink_guesses(graph, guessed, contents);
}

namespace {

// A family may leave out outputs that a node has beside its first (the indices of a max_pool); when
// somebody wants them the op runs as a whole. So does a view of what has no memory of its own.
Result<LoweredStep> lower_for(const Graph& graph, const Node& node) {
  const auto whole = [&] {
    auto step = lower_fallback(node);
    if (step) {
      step->name = node.name;
      step->origins = node.origins;
    }
    return step;
  };
  auto step = lower_node(node);
  if (!step) return step;
  if (step->alias) {
    const Value* viewed = node.inputs[0];
    return viewed->is_constant() || viewed->elements ? whole() : step;
  }
  for (const Value* output : node.outputs) {
    const bool wanted = !output->uses.empty() || graph.is_output(output);
    const auto& made = step->outputs;
    if (wanted && std::find(made.begin(), made.end(), output) == made.end()) return whole();
  }
  return step;
}

std::string port_name(const Value* value) {
  return value->origin.empty() ? value->name : value->origin;
}

// Lowers a graph and its sub-graphs into programs.
class ProgramLowerer {
 public:
  ProgramLowerer(EngineContents& contents, const LowerOptions& options)
      : contents_(contents), options_(options) {
    weights_.keep_sources = options.refittable;
  }

  // The program of a graph; `prefix` makes the names of its steps unique in the plan.
  Result<int32_t> lower(const Graph& graph, std::set<std::string> known, const std::string& name,
                        const std::string& prefix) {
    const auto index = static_cast<int32_t>(contents_.programs.size());
    contents_.programs.emplace_back();  // the outer program stands before those it runs
    for (const Value* input : graph.inputs) {
      for (const Dim& dim : input->type.dims) {
        if (!dim.is_const()) known.insert(dim.text());
      }
    }
    const std::vector<Segment> segments = cut_into_segments(graph, known);
    STOKER_ASSIGN(PlanProgram program, is_static(graph, segments)
                                           ? lower_static(graph, segments, name, prefix)
                                           : lower_dynamic(graph, segments, known, name, prefix));
    contents_.programs[static_cast<size_t>(index)] = std::move(program);
    return index;
  }

  Status problems() const {
    if (problems_.empty()) return Status::ok();
    std::string text = std::to_string(problems_.size()) + " node(s) cannot be compiled:";
    const size_t shown = std::min<size_t>(problems_.size(), 20);
    for (size_t i = 0; i < shown; ++i) text += "\n  " + problems_[i];
    if (shown < problems_.size())
      text += "\n  ... and " + std::to_string(problems_.size() - shown) + " more";
    return {StatusCode::kUnsupported, text};
  }

 private:
  static bool is_static(const Graph& graph, const std::vector<Segment>& segments) {
    const auto fits = [](const Value* v) { return is_static_type(v->type); };
    return segments.size() <= 1 && (segments.empty() || !segments[0].dynamic) &&
           std::all_of(graph.inputs.begin(), graph.inputs.end(), fits) &&
           std::all_of(graph.outputs.begin(), graph.outputs.end(), fits);
  }

  // Emits the steps of static nodes; what cannot be lowered is collected.
  Status emit_nodes(const Graph& graph, const std::vector<const Node*>& nodes, Emitter& emitter) {
    for (const Node* node : nodes) {
      auto step = lower_for(graph, *node);
      if (!step) {
        problems_.push_back(step.status().message());
        continue;
      }
      if (problems_.empty()) STOKER_TRY(emitter.step(*step).at(node->name));
    }
    return Status::ok();
  }

  Result<PlanProgram> lower_static(const Graph& graph, const std::vector<Segment>& segments,
                                   const std::string& name, const std::string& prefix) {
    Emitter emitter(contents_, options_, weights_, name, PlanProgram::Kind::kStatic, prefix);
    for (const Value* input : graph.inputs) emitter.input(port_name(input), input);
    if (!segments.empty()) STOKER_TRY(emit_nodes(graph, segments[0].nodes, emitter));
    if (!problems_.empty()) return emitter.take();
    std::set<std::string> taken;
    for (const Value* output : graph.outputs)
      STOKER_TRY(emitter.output(free_port(taken, port_name(output)), output));
    return emitter.take();
  }

  // Callers of a sub-program go by position; its port names need only differ.
  static std::string free_port(std::set<std::string>& taken, const std::string& name) {
    std::string port = name;
    for (int i = 2; !taken.insert(port).second; ++i) port = name + "_" + std::to_string(i);
    return port;
  }

  Result<PlanProgram> lower_dynamic(const Graph& graph, const std::vector<Segment>& segments,
                                    std::set<std::string>& known, const std::string& name,
                                    const std::string& prefix) {
    Emitter emitter(contents_, options_, weights_, name, PlanProgram::Kind::kDynamic, prefix);
    for (const Value* input : graph.inputs) emitter.input(port_name(input), input);
    std::unordered_map<const Node*, size_t> placed;
    for (size_t s = 0; s < segments.size(); ++s) {
      for (const Node* node : segments[s].nodes) placed[node] = s;
    }
    for (size_t s = 0; s < segments.size(); ++s) {
      if (segments[s].dynamic) {
        for (const Node* node : segments[s].nodes) {
          STOKER_TRY(lower_dynamic_node(*node, known, name, prefix, emitter));
          learn_symbols(*node, known);
        }
        continue;
      }
      STOKER_TRY(lower_segment(graph, segments[s].nodes, s, placed,
                               fmt::format("{}.segment_{}", name, s), prefix, emitter));
    }
    if (!problems_.empty()) return emitter.take();
    std::set<std::string> taken;
    for (const Value* output : graph.outputs)
      STOKER_TRY(emitter.dynamic_output(free_port(taken, port_name(output)), output));
    return emitter.take();
  }

  static void learn_symbols(const Node& node, std::set<std::string>& known) {
    std::vector<std::string> names;
    for (const Value* output : node.outputs) {
      for (const Dim& dim : output->type.dims) dim.collect_symbols(names);
    }
    known.insert(names.begin(), names.end());
  }

  // A static program of the nodes, and the step that calls it.
  Status lower_segment(const Graph& graph, const std::vector<const Node*>& nodes, size_t segment,
                       const std::unordered_map<const Node*, size_t>& placed,
                       const std::string& name, const std::string& prefix, Emitter& caller) {
    Emitter emitter(contents_, options_, weights_, name, PlanProgram::Kind::kStatic, prefix);
    std::vector<Value*> inputs, outputs;
    const auto elsewhere = [&](const Node* node) {
      const auto it = placed.find(node);
      return it == placed.end() || it->second != segment;
    };
    std::unordered_set<const Value*> seen;
    for (const Node* node : nodes) {
      for (Value* input : node->inputs) {
        if (!input || input->is_constant() || input->elements || !seen.insert(input).second)
          continue;
        if (input->producer && !elsewhere(input->producer)) continue;
        emitter.input(input->name, input);
        inputs.push_back(input);
      }
      for (Value* output : node->outputs) {
        if (output->is_constant() || output->elements) continue;
        const bool leaves = graph.is_output(output) ||
                            std::any_of(output->uses.begin(), output->uses.end(),
                                        [&](const Use& use) { return elsewhere(use.node); });
        if (leaves) outputs.push_back(output);
      }
    }
    STOKER_TRY(emit_nodes(graph, nodes, emitter));
    if (!problems_.empty()) return Status::ok();
    for (const Value* output : outputs) STOKER_TRY(emitter.output(output->name, output));
    const auto index = static_cast<int32_t>(contents_.programs.size());
    contents_.programs.push_back(emitter.take());
    return caller.dynamic_step(fmt::format("segment_{}", segment), FallbackParams{kCallOp, {}},
                               inputs, outputs, {}, {index});
  }

  Status lower_dynamic_node(const Node& node, const std::set<std::string>& known,
                            const std::string& name, const std::string& prefix, Emitter& emitter) {
    std::vector<int32_t> subprograms;
    for (const auto& subgraph : node.subgraphs) {
      const std::string part =
          node.name + (subprograms.empty() ? "" : "." + std::to_string(subprograms.size()));
      STOKER_ASSIGN(const int32_t index,
                    lower(*subgraph, known, name + "." + part, prefix + part + "/"));
      subprograms.push_back(index);
    }
    if (node.is("fused"))
      return internal_error("'{}' is fused and cannot run as a whole", node.name);
    return emitter.dynamic_step(node.name, {std::string(node.op->name), node.attributes},
                                node.inputs, node.outputs, node.origins, std::move(subprograms));
  }

  EngineContents& contents_;
  const LowerOptions& options_;
  WeightIndex weights_;
  std::vector<std::string> problems_;
};

// What a size that depends on data is taken to be while tuning.
constexpr int64_t kDataOptimum = 16;

// Symbols that no input names: their producers determine them.
void collect_data_symbols(EngineContents& contents) {
  std::set<std::string> known;
  for (const PlanSymbol& symbol : contents.symbols) known.insert(symbol.name);
  std::vector<std::string> names;
  const auto collect = [&](const Dims& dims) {
    names.clear();
    for (const Dim& dim : dims) {
      if (!dim.is_const()) dim.collect_symbols(names);
    }
    for (const std::string& name : names) {
      if (!known.insert(name).second) continue;
      PlanSymbol symbol;
      symbol.name = name;
      symbol.kind = PlanSymbol::Kind::kData;
      symbol.optimum = kDataOptimum;
      contents.symbols.push_back(std::move(symbol));
    }
  };
  for (const PlanProgram& program : contents.programs) {
    for (const PlanTensor& tensor : program.tensors) {
      collect(tensor.dims);
      collect(tensor.elements);
    }
    for (const PlanStep& step : program.steps) collect(step.param_dims);
  }
}

}  // namespace

Result<EngineContents> lower_graph(const Graph& graph, const LowerOptions& options) {
  EngineContents contents;
  collect_symbols(graph, options, contents);
  std::set<std::string> known;
  for (const PlanSymbol& symbol : contents.symbols) known.insert(symbol.name);
  ProgramLowerer lowerer(contents, options);
  STOKER_TRY(lowerer.lower(graph, known, "main", "").status());
  STOKER_TRY(lowerer.problems());
  collect_data_symbols(contents);
  return contents;
}

SymbolValues optimum_of(const EngineContents& contents) {
  SymbolValues values;
  for (const PlanSymbol& symbol : contents.symbols) values[symbol.name] = symbol.optimum;
  return values;
}

}  // namespace stoker
