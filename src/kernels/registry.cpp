// TacticRegistry: per name the variant of the highest ISA level that is allowed.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/tactic.h"

namespace stoker {
namespace {

std::span<const Tactic> level_tactics(IsaLevel level) {
  switch (level) {
    case IsaLevel::kBaseline: return cpu_tactics_baseline();
    case IsaLevel::kV3: return cpu_tactics_v3();
    case IsaLevel::kV4: return cpu_tactics_v4();
    case IsaLevel::kV4x: return cpu_tactics_v4x();
  }
  return {};
}

}  // namespace

TacticRegistry::TacticRegistry(IsaLevel isa) : isa_(isa) {
  // Every name exists on every level, but a list may still lack one: lower levels fill in.
  for (int level = static_cast<int>(isa); level >= 0; --level) {
    for (const Tactic& tactic : level_tactics(static_cast<IsaLevel>(level))) {
      if (!find(tactic.name)) families_[static_cast<size_t>(tactic.family)].push_back(&tactic);
    }
  }
  for (const Tactic& tactic : reference_tactics()) {
    families_[static_cast<size_t>(tactic.family)].push_back(&tactic);
  }
}

const Tactic* TacticRegistry::find(const std::string& name) const {
  for (const auto& family : families_) {
    for (const Tactic* tactic : family) {
      if (name == tactic->name) return tactic;
    }
  }
  return nullptr;
}

std::vector<Config> configs_of(const Tactic& tactic, const Desc& desc) {
  return tactic.configs ? tactic.configs(desc) : std::vector<Config>{Config{}};
}

}  // namespace stoker
