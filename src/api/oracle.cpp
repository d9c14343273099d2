// SPDX-License-Identifier: Apache-2.0
#include "api/oracle.h"

#include "lower/lowered.h"

namespace stoker {

Status RegistryOracle::has_tactic(const Node& node) const {
  STOKER_ASSIGN(const LoweredStep step, lower_node(node));
  if (step.alias) return Status::ok();
  STOKER_ASSIGN(const Desc desc, lowered_desc(step, optimum_));
  std::vector<TacticRefusal> refusals;
  for (const TacticOption& option : tactic_options(desc, registry_, false, &refusals)) {
    if (!option.tactic->reference) return Status::ok();
  }
  std::string reasons;
  for (const TacticRefusal& refusal : refusals) {
    reasons += (reasons.empty() ? "" : "; ") + refusal.tactic + ": " + refusal.reason;
  }
  return unsupported("{}", reasons.empty() ? "no tactic but the reference" : reasons);
}

SymbolValues guessed_optimum(const Graph& graph,
                             const std::map<std::string, SymbolProfile>& profile) {
  EngineContents contents;
  LowerOptions options;
  options.profile = profile;
  collect_symbols(graph, options, contents);
  return optimum_of(contents);
}

}  // namespace stoker
