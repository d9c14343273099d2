// SPDX-License-Identifier: Apache-2.0
#include "device/isa.h"

#include <array>

namespace stoker {
namespace {
constexpr std::array<std::string_view, kIsaLevelCount> kNames = {"baseline", "v3", "v4", "v4x"};
}

std::string_view isa_name(IsaLevel level) { return kNames[static_cast<size_t>(level)]; }

std::optional<IsaLevel> isa_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<IsaLevel>(i);
  }
  return std::nullopt;
}

IsaLevel detect_isa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("x86-64-v3")) return IsaLevel::kBaseline;
  if (!__builtin_cpu_supports("x86-64-v4")) return IsaLevel::kV3;
  const bool extended =
      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
  return extended ? IsaLevel::kV4x : IsaLevel::kV4;
}

}  // namespace stoker
