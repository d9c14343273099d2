// The certificate's figures: an engine against a build of the same graph without fusion.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/lower_graph.h"
#include "runtime/loaded_engine.h"

namespace stoker {

// Builds `graph` (as imported) unfused, runs both at the profile's optimum on seeded inputs and
// writes the losses per output into the certificate of `contents`. Skipped, and said so there, when
// the unfused graph cannot run.
Status compare_with_unfused(EngineContents& contents, Graph& graph,
                            const std::map<std::string, SymbolProfile>& profile,
                            const TacticRegistry& registry, const RuntimeOptions& runtime);

}  // namespace stoker
