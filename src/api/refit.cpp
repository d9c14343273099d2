// Refit from another file of the same network.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/refit.h"

#include "api/loaded_model.h"
#include "lower/lower_graph.h"
#include "runtime/loaded_engine.h"

namespace stoker {
namespace {

void collect_constants(const Graph& graph, TensorMap& constants) {
  for (const auto& value : graph.values()) {
    if (value->constant && !value->producer && !value->origin.empty())
      constants[value->origin] = *value->constant;
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->subgraphs) collect_constants(*body, constants);
  }
}

// Constants that may change and that the model does not have; empty when it has all.
std::string missing_text(const EngineContents& contents, const TensorMap& constants) {
  std::string text;
  int count = 0;
  for (const PlanSource& source : contents.sources) {
    if (!source.frozen.empty() || constants.count(source.name) > 0) continue;
    if (++count <= 5) text += (count > 1 ? ", '" : "'") + source.name + "'";
  }
  return count > 5 ? text + fmt::format(" and {} more", count - 5) : text;
}

}  // namespace

Result<Engine> refit(const Engine& engine, const Model& model) {
  const EngineContents& contents = engine.impl().contents();
  const Graph& graph = *model.impl().imported.graph;
  TensorMap all, changed;
  collect_constants(graph, all);
  const std::string missing = missing_text(contents, all);
  if (!missing.empty())
    return invalid_argument("the model lacks constants of the engine's: {}; is it another network?",
                            missing);
  std::set<std::string> waiting;
  for (const WeightInfo& info : engine.weights()) {
    if (info.missing) waiting.insert(info.name);
  }
  for (const PlanSource& source : contents.sources) {
    const auto it = all.find(source.name);
    if (it == all.end()) continue;
    if (!holds(source, it->second) || waiting.count(source.name) > 0) changed.insert(*it);
  }
  STOKER_ASSIGN(EngineContents made, refit(contents, changed, model.impl().hash));
  if (structure_hash(graph, contents.sources) != contents.manifest.structure) {
    return invalid_argument(
        "the model is another network than the engine was built from: only values of constants "
        "may differ; build it anew");
  }
  made.manifest.model_name = graph.name;
  STOKER_ASSIGN(auto impl, LoadedEngine::create(std::move(made), engine.impl().options()));
  return Engine(std::move(impl));
}

}  // namespace stoker
