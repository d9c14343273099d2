// SPDX-License-Identifier: Apache-2.0
#include "engine/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "base/memory.h"
#include "engine/engine_file.h"

namespace stoker::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "engine files are read in place");

constexpr char kMagic[8] = {'S', 'T', 'O', 'K', 'E', 'R', '\0', '\1'};

struct RawSection {
  uint32_t kind, reserved;
  uint64_t offset, bytes, checksum;
};

struct RawHeader {
  char magic[8];
  uint32_t format_version, header_bytes;
  uint64_t file_bytes;
  uint32_t section_count, reserved;
  char library_version[32];
  RawSection sections[kSectionCount];
  std::byte zeros[56];
  uint64_t checksum;  // of everything before it
};
static_assert(sizeof(RawHeader) == kHeaderBytes && offsetof(RawHeader, sections) == 64 &&
              offsetof(RawHeader, checksum) == 248);

uint64_t checksum_of(const RawHeader& raw) {
  return hash64({reinterpret_cast<const std::byte*>(&raw), offsetof(RawHeader, checksum)});
}

Status check_version(const RawHeader& raw) {
  if (std::memcmp(raw.magic, kMagic, sizeof kMagic) != 0) {
    return corrupt_file(
        "not an engine file: it does not begin with the mark of one; give a file that "
        "`stoker build` wrote");
  }
  if (raw.format_version > kEngineFormatVersion) {
    return corrupt_file(
        "engine format {} is newer than this library's {}: rebuild the engine or update Stoker",
        raw.format_version, kEngineFormatVersion);
  }
  if (raw.format_version == 0)
    return corrupt_file("engine format 0 does not exist: the file is damaged");
  return Status::ok();
}

Status check_frame(const RawHeader& raw, int64_t file_bytes) {
  const uint64_t found = checksum_of(raw);
  if (found != raw.checksum) {
    return corrupt_file(
        "the header's checksum is {:016x}, expected {:016x}: the file is damaged, copy it again",
        found, raw.checksum);
  }
  const bool zeros = std::all_of(std::begin(raw.zeros), std::end(raw.zeros),
                                 [](std::byte b) { return b == std::byte{0}; });
  if (raw.header_bytes != kHeaderBytes || raw.section_count != kSectionCount || raw.reserved != 0 ||
      !zeros) {
    return corrupt_file("the header has {} bytes and {} sections, expected {} and {}",
                        raw.header_bytes, raw.section_count, kHeaderBytes, kSectionCount);
  }
  if (raw.file_bytes != static_cast<uint64_t>(file_bytes)) {
    return corrupt_file(
        "the file has {} bytes, its header says {}: it is {}, copy it again", file_bytes,
        raw.file_bytes,
        static_cast<uint64_t>(file_bytes) < raw.file_bytes ? "truncated" : "overlong");
  }
  return Status::ok();
}

Result<std::string> version_text(const RawHeader& raw) {
  const char* end = std::find(std::begin(raw.library_version), std::end(raw.library_version), '\0');
  if (end == std::end(raw.library_version))
    return corrupt_file("the header's library version has no end");
  const std::string text(raw.library_version, end);
  const bool clean =
      std::all_of(end, std::end(raw.library_version), [](char c) { return c == '\0'; }) &&
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!clean) return corrupt_file("the header's library version is not plain text");
  return text;
}

}  // namespace

const char* section_name(int index) {
  constexpr const char* kNames[kSectionCount] = {"plan", "graph", "weights", "volatile"};
  return kNames[index];
}

void place_sections(Header& header) {
  int64_t end = kHeaderBytes;
  for (Section& section : header.sections) {
    section.offset = round_up(end, kSectionAlignment);
    end = section.offset + section.bytes;
  }
}

std::array<std::byte, kHeaderBytes> encode_header(const Header& header) {
  STOKER_CHECK(header.library_version.size() <= static_cast<size_t>(kMaxVersionText));
  RawHeader raw{};
  std::memcpy(raw.magic, kMagic, sizeof kMagic);
  raw.format_version = kEngineFormatVersion;
  raw.header_bytes = kHeaderBytes;
  raw.file_bytes = static_cast<uint64_t>(header.file_bytes());
  raw.section_count = kSectionCount;
  std::memcpy(raw.library_version, header.library_version.data(), header.library_version.size());
  for (int i = 0; i < kSectionCount; ++i) {
    const Section& section = header.sections[static_cast<size_t>(i)];
    raw.sections[i] = {static_cast<uint32_t>(i + 1), 0, static_cast<uint64_t>(section.offset),
                       static_cast<uint64_t>(section.bytes), section.checksum};
  }
  raw.checksum = checksum_of(raw);
  return std::bit_cast<std::array<std::byte, kHeaderBytes>>(raw);
}

Result<Header> decode_header(std::span<const std::byte> bytes, int64_t file_bytes) {
  if (bytes.size() < static_cast<size_t>(kHeaderBytes)) {
    return corrupt_file(
        "the file has {} bytes, an engine has at least {}: it is truncated or no engine",
        bytes.size(), kHeaderBytes);
  }
  RawHeader raw;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  STOKER_TRY(check_version(raw));
  STOKER_TRY(check_frame(raw, file_bytes));
  Header header;
  STOKER_ASSIGN(header.library_version, version_text(raw));
  int64_t end = kHeaderBytes;
  for (int i = 0; i < kSectionCount; ++i) {
    const RawSection& section = raw.sections[i];
    // `end` is at most the file's size here, so the sums below cannot overflow.
    const int64_t offset = round_up(end, kSectionAlignment);
    if (section.kind != static_cast<uint32_t>(i + 1) || section.reserved != 0 ||
        section.offset != static_cast<uint64_t>(offset) || offset > file_bytes ||
        section.bytes > static_cast<uint64_t>(file_bytes - offset)) {
      return corrupt_file(
          "section {} of kind {} is said to lie at {} with {} bytes; expected kind {} at {} inside "
          "a file of {} bytes",
          i, section.kind, section.offset, section.bytes, i + 1, offset, file_bytes);
    }
    header.sections[static_cast<size_t>(i)] = {offset, static_cast<int64_t>(section.bytes),
                                               section.checksum};
    end = offset + static_cast<int64_t>(section.bytes);
  }
  if (end != file_bytes)
    return corrupt_file("the sections end at byte {}, the file at {}", end, file_bytes);
  return header;
}

}  // namespace stoker::engine
