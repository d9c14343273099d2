// The frame of an engine file: header, section table, alignment (docs/formats/engine.md).
// Everything is little-endian.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace stoker::engine {

inline constexpr int64_t kHeaderBytes = 256;
inline constexpr int64_t kSectionAlignment = 4096;
inline constexpr int64_t kWeightAlignment = 64;
inline constexpr int64_t kMaxVersionText = 31;  // bytes of the library version in the header
inline constexpr int64_t kMaxTableSection = int64_t{1} << 30;  // plan, graph text, volatile

enum class SectionKind : uint32_t { kPlan = 1, kGraph = 2, kWeights = 3, kVolatile = 4 };
inline constexpr int kSectionCount = 4;
const char* section_name(int index);  // "plan", "graph", "weights", "volatile"

struct Section {
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64
};

struct Header {
  std::string library_version;
  std::array<Section, kSectionCount> sections;  // in the order of SectionKind

  int64_t file_bytes() const { return sections.back().offset + sections.back().bytes; }
};

// Sets the offsets from the sizes.
void place_sections(Header& header);
std::array<std::byte, kHeaderBytes> encode_header(const Header& header);
// `file_bytes`: the size found on disk. Refuses whatever encode_header would not have written.
Result<Header> decode_header(std::span<const std::byte> bytes, int64_t file_bytes);

}  // namespace stoker::engine
