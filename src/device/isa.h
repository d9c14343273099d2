// ISA levels of x86-64 that CPU kernels are compiled for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

// kV4x is x86-64-v4 with AVX512-VNNI and AVX512-BF16.
enum class IsaLevel : uint8_t { kBaseline, kV3, kV4, kV4x };
inline constexpr int kIsaLevelCount = 4;

std::string_view isa_name(IsaLevel level);  // "baseline", "v3", "v4", "v4x"
std::optional<IsaLevel> isa_from_name(std::string_view name);
IsaLevel detect_isa();  // highest level that this CPU and its operating system run

}  // namespace stoker
