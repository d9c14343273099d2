// The ordered list of passes and its runner.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace stoker {

struct PassEntry {
  std::string_view name;
  std::string_view knob;
  PassFunction function;
};

// In the order in which they run; a pass may stand in the list more than once.
std::span<const PassEntry> pass_list();
const PassEntry* find_pass(std::string_view name);

struct PipelineOptions {
  const TacticOracle* oracle = nullptr;
  int64_t max_folded_bytes = int64_t{256} << 20;  // largest constants that folding may make
  bool verify_each = false;        // the verifier after every pass; at the end it always runs
  std::set<std::string> disabled;  // names of passes
  std::string stop_after;          // the first pass of that name is the last to run
  std::function<void(std::string_view pass, const Graph&)> dump_after;
};

struct PassReport {
  struct Entry {
    std::string name;
    int changes = 0;
    double seconds = 0;
  };
  std::vector<Entry> passes;  // those that ran, in order
  std::vector<Refusal> refusals;
};

Result<PassReport> run_passes(Graph& graph, const PipelineOptions& options);
// One pass on the graph and on the branches of its conditionals.
Result<int> run_pass(const PassEntry& pass, Graph& graph, const PassContext& context);

}  // namespace stoker
