// SPDX-License-Identifier: Apache-2.0
#include "ops/unicode.h"

namespace stoker {

namespace {

constexpr uint32_t kInvalidByte = 0x110000;

// Capitals first, first + step, ... last, whose small letters lie `offset` further.
struct CaseRun {
  uint32_t first, last, step;
  int32_t offset;
};
// From the Unicode character database, the pairs that map both ways.
constexpr CaseRun kRuns[] = {
    {0xc0, 0xd6, 1, 32},       {0xd8, 0xde, 1, 32},       {0x100, 0x12e, 2, 1},
    {0x132, 0x136, 2, 1},      {0x139, 0x147, 2, 1},      {0x14a, 0x176, 2, 1},
    {0x178, 0x178, 1, -121},   {0x179, 0x17d, 2, 1},      {0x181, 0x181, 1, 210},
    {0x182, 0x184, 2, 1},      {0x186, 0x186, 1, 206},    {0x187, 0x187, 1, 1},
    {0x189, 0x18a, 1, 205},    {0x18b, 0x18b, 1, 1},      {0x18e, 0x18e, 1, 79},
    {0x18f, 0x18f, 1, 202},    {0x190, 0x190, 1, 203},    {0x191, 0x191, 1, 1},
    {0x193, 0x193, 1, 205},    {0x194, 0x194, 1, 207},    {0x196, 0x196, 1, 211},
    {0x197, 0x197, 1, 209},    {0x198, 0x198, 1, 1},      {0x19c, 0x19c, 1, 211},
    {0x19d, 0x19d, 1, 213},    {0x19f, 0x19f, 1, 214},    {0x1a0, 0x1a4, 2, 1},
    {0x1a6, 0x1a6, 1, 218},    {0x1a7, 0x1a7, 1, 1},      {0x1a9, 0x1a9, 1, 218},
    {0x1ac, 0x1ac, 1, 1},      {0x1ae, 0x1ae, 1, 218},    {0x1af, 0x1af, 1, 1},
    {0x1b1, 0x1b2, 1, 217},    {0x1b3, 0x1b5, 2, 1},      {0x1b7, 0x1b7, 1, 219},
    {0x1b8, 0x1b8, 1, 1},      {0x1bc, 0x1bc, 1, 1},      {0x1c4, 0x1c4, 1, 2},
    {0x1c7, 0x1c7, 1, 2},      {0x1ca, 0x1ca, 1, 2},      {0x1cd, 0x1db, 2, 1},
    {0x1de, 0x1ee, 2, 1},      {0x1f1, 0x1f1, 1, 2},      {0x1f4, 0x1f4, 1, 1},
    {0x1f6, 0x1f6, 1, -97},    {0x1f7, 0x1f7, 1, -56},    {0x1f8, 0x21e, 2, 1},
    {0x220, 0x220, 1, -130},   {0x222, 0x232, 2, 1},      {0x23a, 0x23a, 1, 10795},
    {0x23b, 0x23b, 1, 1},      {0x23d, 0x23d, 1, -163},   {0x23e, 0x23e, 1, 10792},
    {0x241, 0x241, 1, 1},      {0x243, 0x243, 1, -195},   {0x244, 0x244, 1, 69},
    {0x245, 0x245, 1, 71},     {0x246, 0x24e, 2, 1},      {0x370, 0x372, 2, 1},
    {0x376, 0x376, 1, 1},      {0x37f, 0x37f, 1, 116},    {0x386, 0x386, 1, 38},
    {0x388, 0x38a, 1, 37},     {0x38c, 0x38c, 1, 64},     {0x38e, 0x38f, 1, 63},
    {0x391, 0x3a1, 1, 32},     {0x3a3, 0x3ab, 1, 32},     {0x3cf, 0x3cf, 1, 8},
    {0x3d8, 0x3ee, 2, 1},      {0x3f7, 0x3f7, 1, 1},      {0x3f9, 0x3f9, 1, -7},
    {0x3fa, 0x3fa, 1, 1},      {0x3fd, 0x3ff, 1, -130},   {0x400, 0x40f, 1, 80},
    {0x410, 0x42f, 1, 32},     {0x460, 0x480, 2, 1},      {0x48a, 0x4be, 2, 1},
    {0x4c0, 0x4c0, 1, 15},     {0x4c1, 0x4cd, 2, 1},      {0x4d0, 0x52e, 2, 1},
    {0x531, 0x556, 1, 48},     {0x1e00, 0x1e94, 2, 1},    {0x1ea0, 0x1efe, 2, 1},
    {0x1f08, 0x1f0f, 1, -8},   {0x1f18, 0x1f1d, 1, -8},   {0x1f28, 0x1f2f, 1, -8},
    {0x1f38, 0x1f3f, 1, -8},   {0x1f48, 0x1f4d, 1, -8},   {0x1f59, 0x1f5f, 2, -8},
    {0x1f68, 0x1f6f, 1, -8},   {0x1fb8, 0x1fb9, 1, -8},   {0x1fba, 0x1fbb, 1, -74},
    {0x1fc8, 0x1fcb, 1, -86},  {0x1fd8, 0x1fd9, 1, -8},   {0x1fda, 0x1fdb, 1, -100},
    {0x1fe8, 0x1fe9, 1, -8},   {0x1fea, 0x1feb, 1, -112}, {0x1fec, 0x1fec, 1, -7},
    {0x1ff8, 0x1ff9, 1, -128}, {0x1ffa, 0x1ffb, 1, -126}, {0x2160, 0x216f, 1, 16},
    {0x24b6, 0x24cf, 1, 26},   {0xff21, 0xff3a, 1, 32}};

// What maps one way only.
constexpr uint32_t kUpperOnly[][2] = {{0xb5, 0x39c}, {0x131, 'I'}, {0x17f, 'S'}, {0x3c2, 0x3a3}};
constexpr uint32_t kLowerOnly[][2] = {{0x130, 'i'}, {0x1e9e, 0xdf}};

bool holds(const CaseRun& run, uint32_t capital) {
  return capital >= run.first && capital <= run.last && (capital - run.first) % run.step == 0;
}

// Bytes of the character that starts with `lead`; 0 when none does.
int character_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

template <class Map>
std::string map_text(std::string_view text, Map map) {
  std::string mapped;
  mapped.reserve(text.size());
  for (size_t at = 0; at < text.size();) append_character(mapped, map(next_character(text, at)));
  return mapped;
}

}  // namespace

uint32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  const int bytes = character_bytes(lead);
  if (bytes == 1) return lead;
  const size_t more = bytes == 0 ? 0 : static_cast<size_t>(bytes) - 1;
  if (bytes == 0 || text.size() - at < more) return kInvalidByte + lead;
  uint32_t character = lead & (0x7fu >> bytes);
  for (size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return kInvalidByte + lead;
    character = character << 6 | (byte(at + i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < kSmallest[bytes] || character >= kInvalidByte || surrogate)
    return kInvalidByte + lead;
  at += more;
  return character;
}

void append_character(std::string& text, uint32_t character) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character >= kInvalidByte) return put(character - kInvalidByte);
  if (character < 0x80) return put(character);
  if (character < 0x800) {
    put(0xc0 | character >> 6);
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3f));
  } else {
    put(0xf0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3f));
    put(0x80 | (character >> 6 & 0x3f));
  }
  put(0x80 | (character & 0x3f));
}

uint32_t to_upper(uint32_t character) {
  if (character < 0x80)
    return character >= 'a' && character <= 'z' ? character - 'a' + 'A' : character;
  for (const auto& [small, capital] : kUpperOnly) {
    if (character == small) return capital;
  }
  for (const CaseRun& run : kRuns) {
    const uint32_t capital = character - static_cast<uint32_t>(run.offset);
    if (holds(run, capital)) return capital;
  }
  return character;
}

uint32_t to_lower(uint32_t character) {
  if (character < 0x80)
    return character >= 'A' && character <= 'Z' ? character - 'A' + 'a' : character;
  for (const auto& [capital, small] : kLowerOnly) {
    if (character == capital) return small;
  }
  for (const CaseRun& run : kRuns) {
    if (holds(run, character)) return character + static_cast<uint32_t>(run.offset);
  }
  return character;
}

std::string upper_text(std::string_view text) { return map_text(text, to_upper); }
std::string in_small_letters(std::string_view text) { return map_text(text, to_lower); }

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace stoker
