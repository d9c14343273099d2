// What the forms of an explanation share: the steps of all programs with what is known of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/explain.h"
#include "runtime/loaded_engine.h"

namespace stoker {

// One step of an engine. Pointers into the engine and the run; null where nothing is known.
struct ExplainedStep {
  int32_t program = 0, index = 0;
  const PlanProgram* plan = nullptr;
  const PlanStep* step = nullptr;
  const StepMeasurement* measured = nullptr;
  const StepProfile* profile = nullptr;
  bool reference = false;  // run by the op's slow reference evaluation
  bool calls = false;      // runs other programs
  std::string slow;        // of a reference step: why no kernel runs it

  std::string family() const;
  // The op of a step that has no family of its own; empty otherwise.
  std::string op() const;
  // "by conv_f32_c16 (default)", or what stands for it.
  std::string how() const;
  // The tactic and config that ran, or those of the plan.
  const std::string& tactic() const { return profile ? profile->tactic : step->tactic; }
  const std::string& config() const { return profile ? profile->config : step->config; }
};

// All steps in the order of the programs. A run of `record` gives them their times.
std::vector<ExplainedStep> explained_steps(const LoadedEngine& engine, const RunRecord* record);

// How much of the machine a step used: its operations against the peak of its dtype, and its bytes
// against reading memory (more than 1 from a cache). 0 where it does neither.
struct PeakShare {
  double compute = 0, memory = 0;
};
PeakShare peak_share(const ExplainedStep& step, const MachinePeaks& peaks);

// Billions per second of an amount done in some microseconds.
inline double giga_rate(double amount, double time_us) {
  return time_us > 0 ? amount / time_us / 1e3 : 0;
}

// Does the step of a dynamic program run a static one, whose steps do the work?
bool is_call(const PlanStep& step);

// A page's text with JSON in the place of its mark, a null behind a comment.
std::string page_with_data(std::string page, std::string json);

std::string joined(const std::vector<std::string>& parts, const char* separator);

}  // namespace stoker
