// Lexer of the text form: works on the whole text, counts lines, never reads past the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

inline constexpr size_t kMaxNameBytes = 64 * 1024;

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // Skips blanks, line ends too.
  void skip_space();
  // Skips blanks inside the line.
  void skip_blanks();
  // Skips comments and blanks up to the next token of any line.
  void skip_comments();
  bool at_end() const { return position_ >= text_.size(); }
  bool at_line_end() const { return at_end() || text_[position_] == '\n'; }
  char peek() const { return at_end() ? '\0' : text_[position_]; }

  // Takes the word or sign when it comes next (after blanks).
  bool take(char c);
  bool take_word(std::string_view word);
  Status expect(char c);
  // Letters, digits, '_', '.' and '/'; empty when there is none.
  std::string_view word();
  bool sees_word(std::string_view word);
  // A word or a string in quotes.
  Result<std::string> name();
  Result<std::string> string();
  // The characters of a number, "nan", "inf", "0x..." with their sign.
  std::string_view number();
  // Text up to the bracket that closes the present level; the bracket is taken.
  Result<std::string> until_bracket(size_t limit);

  Status bad(std::string_view expected) const;
  int line() const { return line_; }

 private:
  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1;
};

}  // namespace stoker
