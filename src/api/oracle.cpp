// SPDX-License-Identifier: Apache-2.0
#include "api/oracle.h"

#include "lower/lowered.h"
#include "plan/bind.h"

namespace stoker {

Status RegistryOracle::has_tactic(const Node& node) const {
  STOKER_ASSIGN(const LoweredStep step, lower_node(node));
  if (step.alias) return Status::ok();
  STOKER_ASSIGN(const Desc desc, lowered_desc(step, optimum_));
  std::string reasons;
  for (const Tactic* tactic : registry_.family(desc.family())) {
    if (tactic->reference) continue;
    std::vector<std::vector<Layout>> choices{{}};
    if (tactic->layouts) choices = tactic->layouts(desc);
    Status last = unsupported("no layout");
    for (const std::vector<Layout>& layouts : choices) {
      Desc candidate = desc;
      for (size_t i = 0; i < layouts.size(); ++i) {
        const size_t inputs = candidate.inputs.size();
        (i < inputs ? candidate.inputs[i] : candidate.outputs[i - inputs]).layout = layouts[i];
      }
      last = adapt_desc(*tactic, candidate);
      if (last.is_ok()) return last;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(tactic->name) + ": " + last.message();
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
