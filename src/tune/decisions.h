// Decisions: what tuning chose for each step, as a file that makes the next build come out the
// same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/plan.h"

namespace stoker {

struct StepDecision {
  std::string tactic, config;
  int32_t version = 0;
  std::vector<Layout> layouts;  // of inputs, then outputs
};

struct Decisions {
  std::string library_version;
  std::string route;
  std::map<std::string, StepDecision> steps;  // by step name
};

Decisions decisions_of(const EngineContents& contents);

// JSON, sorted by step: {"library":..., "route":...,
// "steps":{"conv_0":{"tactic":...,"version":1,"config":..., "layouts":["plain","c16"]}}}.
std::string decisions_text(const Decisions& decisions);
Result<Decisions> parse_decisions(const std::string& text);

}  // namespace stoker
