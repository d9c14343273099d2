// The bridge between the passes' question and the tactics' answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tactic.h"
#include "lower/lower_graph.h"
#include "passes/oracle.h"

namespace stoker {

// Lowers the candidate and asks the registry at the profile's optimum. Thread-compatible.
class RegistryOracle : public TacticOracle {
 public:
  RegistryOracle(const TacticRegistry& registry, SymbolValues optimum)
      : registry_(registry), optimum_(std::move(optimum)) {}
  Status has_tactic(const Node& node) const override;

 private:
  const TacticRegistry& registry_;
  SymbolValues optimum_;
};

// Optimum of every symbol that the inputs name; sizes nobody gave are guessed as lowering does.
SymbolValues guessed_optimum(const Graph& graph,
                             const std::map<std::string, SymbolProfile>& profile);

}  // namespace stoker
