// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.h"

namespace stoker {
namespace {

bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::skip_blanks() {
  while (!at_end() &&
         (text_[position_] == ' ' || text_[position_] == '\t' || text_[position_] == '\r')) {
    ++position_;
  }
}

void Lexer::skip_space() {
  while (true) {
    skip_blanks();
    if (peek() != '\n' || at_end()) return;
    ++line_;
    ++position_;
  }
}

void Lexer::skip_comments() {
  while (true) {
    skip_space();
    if (peek() != '#') return;
    while (!at_line_end()) ++position_;
  }
}

bool Lexer::take(char c) {
  skip_blanks();
  if (at_end() || peek() != c) return false;
  ++position_;
  return true;
}

Status Lexer::expect(char c) {
  if (take(c)) return Status::ok();
  return bad(std::string("'") + c + "'");
}

std::string_view Lexer::word() {
  skip_blanks();
  const size_t start = position_;
  while (!at_end() && word_char(text_[position_])) ++position_;
  return text_.substr(start, position_ - start);
}

bool Lexer::sees_word(std::string_view expected) {
  const size_t start = position_;
  const bool same = word() == expected;
  position_ = start;
  return same;
}

bool Lexer::take_word(std::string_view expected) {
  if (!sees_word(expected)) return false;
  word();
  return true;
}

Result<std::string> Lexer::name() {
  skip_blanks();
  if (peek() == '"') return string();
  const std::string_view found = word();
  if (found.empty()) return bad("a name");
  if (found.size() > kMaxNameBytes) return bad("a shorter name");
  return std::string(found);
}

Result<std::string> Lexer::string() {
  STOKER_TRY(expect('"'));
  std::string out;
  while (!at_line_end()) {
    const char c = text_[position_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = peek();
    if (escape == '"' || escape == '\\') {
      out += escape;
      ++position_;
    } else if (escape == 'x' && position_ + 2 < text_.size() &&
               hex_digit(text_[position_ + 1]) >= 0 && hex_digit(text_[position_ + 2]) >= 0) {
      out +=
          static_cast<char>(hex_digit(text_[position_ + 1]) * 16 + hex_digit(text_[position_ + 2]));
      position_ += 3;
    } else {
      return bad("an escape \\\", \\\\ or \\xNN");
    }
  }
  return bad("a closing quote");
}

std::string_view Lexer::number() {
  skip_blanks();
  const size_t start = position_;
  if (!at_end() && (peek() == '-' || peek() == '+')) ++position_;
  while (!at_end()) {
    const char c = text_[position_];
    const char before = position_ > start ? text_[position_ - 1] : '\0';
    const bool exponent_sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
    if (c == '/' || (!word_char(c) && !exponent_sign)) break;
    ++position_;
  }
  return text_.substr(start, position_ - start);
}

Result<std::string> Lexer::until_bracket(size_t limit) {
  const size_t start = position_;
  while (!at_line_end() && text_[position_] != ']') {
    if (position_ - start > limit) return bad("a shorter list of extents");
    ++position_;
  }
  if (at_line_end()) return bad("']'");
  std::string inside(text_.substr(start, position_ - start));
  ++position_;
  return inside;
}

Status Lexer::bad(std::string_view expected) const {
  std::string found = "the end of the text";
  if (!at_end()) {
    const std::string_view rest = text_.substr(position_, 24);
    const size_t end = rest.find('\n');
    found = end == 0 ? "the end of the line" : "'" + std::string(rest.substr(0, end)) + "'";
  }
  return invalid_argument("line {}: expected {}, found {}", line_, expected, found);
}

}  // namespace stoker
