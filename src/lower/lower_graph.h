// From an optimized graph to a plan: steps, tensors, weights with their recipes, the partial order.
// In three moves, so that tuning stands between them:
//   lower_graph     all layouts plain, weights canonical, no tactics
//   assign_layouts  a layout for each edge, layout changes inserted as copy steps
//   finish_plan     (after tactics are chosen) weights packed for them, dead ones dropped, order
//   computed
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "engine/plan.h"
#include "ir/graph.h"
#include "kernels/tactic.h"

namespace stoker {

// Sizes of a symbol in the build's profile.
struct SymbolProfile {
  int64_t min = 0, optimum = 1, max = INT64_MAX;
};

struct LowerOptions {
  std::map<std::string, SymbolProfile>
      profile;  // symbols without an entry: any size, optimum guessed
  Place place;
  bool refittable = false;  // leave what keep_sources starts from
};

// All problems of the graph at once: nodes that need what this version lacks.
Result<EngineContents> lower_graph(const Graph& graph, const LowerOptions& options);

// The sizes that the inputs name, with their ranges and optima.
void collect_symbols(const Graph& graph, const LowerOptions& options, EngineContents& contents);

// Symbol values at the profile's optimum.
SymbolValues optimum_of(const EngineContents& contents);

// One tactic of a step under given layouts. No tactic: none can be judged before the engine runs,
// since its sizes depend on data and no guess fits.
struct TacticOption {
  const Tactic* tactic = nullptr;
  std::vector<Layout> layouts;  // inputs, then outputs
  Desc desc;                    // with these layouts and the tactic's packings
  double cost = 0;              // seconds by the cost model
};
struct TacticRefusal {
  std::string tactic, reason;
};
// Options of a desc, by the registry's order. `fixed`: only those with the layouts it has now.
std::vector<TacticOption> tactic_options(const Desc& desc, const TacticRegistry& registry,
                                         bool fixed,
                                         std::vector<TacticRefusal>* refusals = nullptr);
// Options of a step at the optimum shape, `optimum_of(contents)`. `fixed`: only those with the
// layouts that the tensors have now.
std::vector<TacticOption> tactic_options(const EngineContents& contents, const PlanProgram& program,
                                         const PlanStep& step, const SymbolValues& optimum,
                                         const TacticRegistry& registry, bool fixed,
                                         std::vector<TacticRefusal>* refusals = nullptr);

// Layouts decided earlier, by step name: inputs, then outputs. Steps that are not listed are free.
using LayoutDecisions = std::map<std::string, std::vector<Layout>>;
Status assign_layouts(EngineContents& contents, const TacticRegistry& registry, bool allow_blocked,
                      const LayoutDecisions& decisions);

// Copies between the caller's memory on the CPU and a device: one for each input that a step on the
// device reads and each output that one writes. Nothing to do when everything is on the CPU.
void insert_transfers(EngineContents& contents);

Status finish_plan(EngineContents& contents, const TacticRegistry& registry);

// Marks what a refit may change, before the passes: the model's float tensors, and integers that
// are dequantized or multiplied. Scalars (rank 0) say what a network computes, not what it learned.
void open_weights(Graph& graph);
// Makes a finished plan refittable: says of each constant of the model as imported whether another
// value may take its place, keeps the values that recipes need beside the new ones.
void keep_sources(EngineContents& contents, const Graph& imported);
// Names of those that a refit may change.
std::set<std::string> open_sources(const std::vector<PlanSource>& sources);
// Leaves out what a refit gives: weights made from constants that may change, and kept values of
// those.
void strip_weights(EngineContents& contents);
// Content hash of the graph without the values that a refit may change.
std::string structure_hash(const Graph& imported, const std::vector<PlanSource>& sources);

}  // namespace stoker
