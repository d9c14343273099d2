// SPDX-License-Identifier: Apache-2.0
#include "lower/lower_graph.h"

#include <algorithm>

#include "lower/emit.h"

namespace stoker {
namespace {

// A size nobody gave: 1 for a batch (the first dim), 128 for anything else.
int64_t guess_optimum(const Graph& graph, const std::string& symbol) {
  for (const Value* input : graph.inputs) {
    if (!input->type.dims.empty() && input->type.dims[0].text() == symbol) return 1;
  }
  return 128;
}

}  // namespace

void collect_symbols(const Graph& graph, const LowerOptions& options, EngineContents& contents) {
  std::vector<std::string> names;
  for (const Value* input : graph.inputs) {
    for (const Dim& dim : input->type.dims) dim.collect_symbols(names);
  }
  for (const std::string& name : names) {
    PlanSymbol symbol;
    symbol.name = name;
    symbol.optimum = guess_optimum(graph, name);
    if (const Symbol* declared = graph.find_symbol(name)) {
      symbol.kind =
          declared->kind == Symbol::Kind::kStep ? PlanSymbol::Kind::kStep : PlanSymbol::Kind::kBind;
      symbol.min = declared->min;
      symbol.max = declared->max;
    }
    if (const auto it = options.profile.find(name); it != options.profile.end()) {
      symbol.optimum = it->second.optimum;
      symbol.min = std::max(symbol.min, it->second.min);
      symbol.max = std::min(symbol.max, it->second.max);
    }
    symbol.optimum = std::clamp(symbol.optimum, std::max<int64_t>(symbol.min, 0), symbol.max);
    contents.symbols.push_back(std::move(symbol));
  }
}

namespace {

// Shape arithmetic is evaluated at bind and constants are weights: neither is a step.
bool needs_step(const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [](const Value* v) { return !v->is_constant() && !v->elements; });
}

// Sizes that no input determines exist only once their producer has run.
Status check_sizes(const Node& node, const EngineContents& contents) {
  for (const Value* output : node.outputs) {
    if (output->type.kind != ValueType::Kind::kTensor)
      return unsupported("{} '{}': a sequence, optional or state output", node.op->name, node.name);
    if (output->type.dtype == DType::kString)
      return unsupported("{} '{}': strings in '{}'", node.op->name, node.name, output->name);
    if (!output->type.ranked)
      return unsupported("{} '{}': output '{}' has no known rank", node.op->name, node.name,
                         output->name);
    std::vector<std::string> names;
    for (const Dim& dim : output->type.dims) dim.collect_symbols(names);
    for (const std::string& name : names) {
      const auto known = [&](const PlanSymbol& symbol) { return symbol.name == name; };
      if (std::none_of(contents.symbols.begin(), contents.symbols.end(), known)) {
        return unsupported("{} '{}': size {} of '{}' depends on data", node.op->name, node.name,
                           name, output->name);
      }
    }
  }
  return Status::ok();
}

// A family may leave out outputs that a node has beside its first (the indices of a max_pool); when
// somebody wants them the op runs as a whole.
Result<LoweredStep> lower_for(const Graph& graph, const Node& node) {
  auto step = lower_node(node);
  if (!step) return step;
  for (const Value* output : node.outputs) {
    const bool wanted = !output->uses.empty() || graph.is_output(output);
    const auto& made = step->outputs;
    if (!wanted || std::find(made.begin(), made.end(), output) != made.end()) continue;
    step = lower_fallback(node);
    if (step) {
      step->name = node.name;
      step->origins = node.origins;
    }
    return step;
  }
  return step;
}

Status report(const std::vector<std::string>& problems) {
  std::string text = std::to_string(problems.size()) + " node(s) cannot be compiled yet:";
  const size_t shown = std::min<size_t>(problems.size(), 20);
  for (size_t i = 0; i < shown; ++i) text += "\n  " + problems[i];
  if (shown < problems.size())
    text += "\n  ... and " + std::to_string(problems.size() - shown) + " more";
  return {StatusCode::kUnsupported, text};
}

}  // namespace

Result<EngineContents> lower_graph(const Graph& graph, const LowerOptions& options) {
  EngineContents contents;
  collect_symbols(graph, options, contents);
  Emitter emitter(contents, options);
  std::vector<std::string> problems;
  for (const Value* input : graph.inputs) {
    if (input->type.kind != ValueType::Kind::kTensor || !input->type.ranked ||
        input->type.dtype == DType::kString) {
      problems.push_back("input '" + input->name + "': " + type_text(input->type));
      continue;
    }
    emitter.input(input);
  }
  for (const auto& node : graph.nodes()) {
    if (!needs_step(*node)) continue;
    if (const Status status = check_sizes(*node, contents); !status) {
      problems.push_back(status.message());
      continue;
    }
    auto step = lower_for(graph, *node);
    if (!step) {
      problems.push_back(step.status().message());
      continue;
    }
    if (problems.empty()) STOKER_TRY(emitter.step(*step).at(node->name));
  }
  if (!problems.empty()) return report(problems);
  for (const Value* output : graph.outputs) {
    STOKER_TRY(emitter.output(output->origin.empty() ? output->name : output->origin, output));
  }
  contents.programs.push_back(emitter.take());
  return contents;
}

SymbolValues optimum_of(const EngineContents& contents) {
  SymbolValues values;
  for (const PlanSymbol& symbol : contents.symbols) values[symbol.name] = symbol.optimum;
  return values;
}

}  // namespace stoker
