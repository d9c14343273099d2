// What a build decided and why: per step its origins, tactic, rivals with times or refusals,
// layouts and self-check; and what is in a model file before any build.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/doctor.h"
#include "stoker/builder.h"

namespace stoker {

// A profiled run, to be shown beside the decisions.
struct RunRecord {
  std::vector<StepProfile> steps;
  std::vector<TraceEvent> trace;  // of one run
  MachinePeaks peaks;             // with as many threads
  double total_us = 0;            // sum of the steps
};
// Runs the session's bound inputs for about `seconds` and measures the machine.
Result<RunRecord> record_run(const Engine& engine, Session& session, double seconds);

// For people. Steps left to the slow reference tactic are listed at the end, with the refusals.
// `run` may be null: then there are no times.
std::string explain_text(const Engine& engine, const RunRecord* run);
// {"model","device","route","build_s","steps":[{"name","program","family","tactic","config",
// "origins","inputs","outputs","candidates":[{"tactic","config","median_us","samples","refusal"}],
// "self_check":{"error","bound","elements"},"run":{"time_us","share","flops","bytes","gflop_per_s",
// "gb_per_s","compute_peak_share","memory_peak_share"}}],"nodes":[{"name","step","nodes_of_step",
// "time_us"}],"peaks","notes","certificate"}; "run", "time_us" and "peaks" with a run only. "nodes"
// are those of the model file; what a step of several takes stands at each of them.
std::string explain_json(const Engine& engine, const RunRecord* run);
// One page without references to anything outside: the steps as a graph coloured by time, with
// what explain_json says of each.
std::string explain_html(const Engine& engine, const RunRecord* run);
// The run as Chrome's and Perfetto's JSON events, one row per worker.
std::string chrome_trace(const RunRecord& run);

// Inputs, outputs, opsets and op counts of a model file.
std::string model_text(const Model& model);
std::string model_json(const Model& model);
// What the build compared the engine with, as its certificate says; "nothing: ..." and the reason.
std::string checked_against(const Engine& engine);

}  // namespace stoker
