// What a build decided and why: per step its origins, tactic, rivals with times or refusals,
// layouts and self-check; and what is in a model file before any build.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stoker/builder.h"

namespace stoker {

// For people. Steps left to the slow reference tactic are listed at the end, with the refusals.
std::string explain_text(const Engine& engine);
// {"model","device","route","build_s","steps":[{"name","family","tactic","config","origins",
// "inputs","outputs","candidates":[{"tactic","config","median_us","samples","refusal"}],
// "self_check":{"error","bound","elements"}}],"notes","certificate"}
std::string explain_json(const Engine& engine);

// Inputs, outputs, opsets and op counts of a model file.
std::string model_text(const Model& model);
std::string model_json(const Model& model);

}  // namespace stoker
