// UTF-8 and case mapping of single characters, the same on every machine and in every locale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

// The character at `at`, which moves behind it. A byte that starts no valid character stands for
// itself, 0x110000 above its value, so that encoding gives it back.
uint32_t next_character(std::string_view text, size_t& at);
void append_character(std::string& text, uint32_t character);

// Characters whose other case is one character, of the Latin, Greek, Cyrillic and Armenian
// alphabets, Roman numerals, circled and full-width letters; all others stay as they are.
uint32_t to_upper(uint32_t character);
uint32_t to_lower(uint32_t character);
std::string upper_text(std::string_view text);
std::string in_small_letters(std::string_view text);

bool is_space(uint32_t character);  // of any script

}  // namespace stoker
