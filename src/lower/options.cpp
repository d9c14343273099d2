// The tactics of a desc with the layouts they take: what layout assignment, the contest and the
// passes' oracle choose from.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/desc/check.h"
#include "lower/lower_graph.h"
#include "plan/bind.h"

namespace stoker {
namespace {

constexpr double kFlopsPerSecond = 60e9, kBytesPerSecond = 12e9, kReferencePenalty = 60;

double model_cost(const Desc& desc, const Tactic& tactic, int rank) {
  const Work work = desc_work(desc);
  const double base = std::max(work.flops / kFlopsPerSecond, work.bytes / kBytesPerSecond) + 0.5e-6;
  return base * (tactic.reference ? kReferencePenalty : 1.0 + rank);
}

}  // namespace

std::vector<TacticOption> tactic_options(const Desc& desc, const TacticRegistry& registry,
                                         bool fixed, std::vector<TacticRefusal>* refusals) {
  std::vector<TacticOption> options;
  const size_t operands = desc.inputs.size() + desc.outputs.size();
  const auto tensor = [](auto& d, size_t i) -> auto& {
    return i < d.inputs.size() ? d.inputs[i] : d.outputs[i - d.inputs.size()];
  };
  std::vector<Layout> current;
  for (size_t i = 0; i < operands; ++i) current.push_back(tensor(desc, i).layout);
  int rank = 0;
  for (const Tactic* tactic : registry.family(desc.family())) {
    std::vector<std::vector<Layout>> choices{std::vector<Layout>(operands, Layout::kPlain)};
    if (fixed) {
      choices = {current};
    } else if (tactic->layouts) {
      choices = tactic->layouts(desc);
    }
    bool taken = false;
    std::string reason = "takes none of the layouts";
    for (std::vector<Layout>& layouts : choices) {
      if (layouts.size() != operands) continue;
      TacticOption option{tactic, layouts, desc, 0};
      for (size_t i = 0; i < operands; ++i) tensor(option.desc, i).layout = layouts[i];
      if (const Status status = adapt_desc(*tactic, option.desc); !status) {
        reason = status.message();
        continue;
      }
      option.cost = model_cost(option.desc, *tactic, rank);
      options.push_back(std::move(option));
      taken = true;
    }
    if (taken)
      ++rank;
    else if (refusals)
      refusals->push_back({tactic->name, reason});
  }
  return options;
}

std::vector<TacticOption> tactic_options(const EngineContents& contents, const PlanProgram& program,
                                         const PlanStep& step, const SymbolValues& optimum,
                                         const TacticRegistry& registry, bool fixed,
                                         std::vector<TacticRefusal>* refusals) {
  // Sizes may be guesses that do not fit each other, which is no reason to refuse the step: first
  // those that depend on data are taken as 1, which broadcasts, then all of them.
  const bool guessed = !contents.symbols.empty();
  const auto options_at =
      [&](const SymbolValues& symbols) -> std::optional<std::vector<TacticOption>> {
    const auto desc = bind_desc(contents, program, step, symbols);
    if (!desc || !check_desc(*desc)) return std::nullopt;
    auto options = tactic_options(*desc, registry, fixed, refusals);
    if (options.empty() && guessed) return std::nullopt;
    return options;
  };
  if (auto options = options_at(optimum)) return std::move(*options);
  SymbolValues symbols = optimum;
  for (const bool all : {false, true}) {
    for (const PlanSymbol& symbol : contents.symbols) {
      if (!all && symbol.kind != PlanSymbol::Kind::kData) continue;
      symbols[symbol.name] = std::max<int64_t>(symbol.min, 1);
    }
    if (auto options = options_at(symbols)) return std::move(*options);
  }
  TacticOption later;
  later.layouts.assign(step.inputs.size() + step.outputs.size(), Layout::kPlain);
  return {later};
}

}  // namespace stoker
