// What both engines read alike goes through as it is. Different are \s and \v, the escapes and
// groups that only PCRE2 knows, and repeats of repeats, which PCRE2 takes as possessive or refuses.
// SPDX-License-Identifier: Apache-2.0
#include "ops/re2_pattern.h"

#include <cctype>

#include "base/status.h"

namespace stoker {

namespace {

class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  Result<std::string> run() {
    while (at_ < text_.size()) STOKER_TRY(item());
    return std::move(out_);
  }

 private:
  bool starts(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  void take(size_t count) {
    out_ += text_.substr(at_, count);
    at_ += count;
  }
  template <class... Args>
  Status bad(fmt::format_string<Args...> what, Args&&... args) const {
    return invalid_model("pattern \"{}\", position {}: {}", text_, at_,
                         fmt::format(what, std::forward<Args>(args)...));
  }

  Status item() {
    switch (text_[at_]) {
      case '\\': return escape(false);
      case '[': return character_class();
      case '(': return group();
      case '*':
      case '+':
      case '?': return repeat(1);
      case '{': {
        const size_t length = counted();
        if (length) return repeat(length);
        out_ += '\\';  // a brace that counts nothing stands for itself
        break;
      }
      default: break;
    }
    after_repeat_ = false;
    take(1);
    return Status::ok();
  }

  // Length of "{3}", "{3,}" or "{3,5}" here; 0 when there is none.
  size_t counted() const {
    size_t at = at_ + 1;
    const auto digits = [&] {
      const size_t begin = at;
      while (at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at]))) ++at;
      return at - begin;
    };
    if (digits() == 0) return 0;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      digits();
    }
    return at < text_.size() && text_[at] == '}' ? at + 1 - at_ : 0;
  }

  Status repeat(size_t length) {
    if (after_repeat_) return bad("a repeat of a repeat, which RE2 does not have; group the first");
    int64_t number = 0;
    for (const char c : text_.substr(at_, length)) {
      number = std::isdigit(static_cast<unsigned char>(c)) ? number * 10 + (c - '0') : 0;
      if (number > 1000) return bad("a repeat of more than 1000, the limit of RE2");
    }
    take(length);
    if (starts("?")) take(1);
    after_repeat_ = true;
    return Status::ok();
  }

  Status group() {
    after_repeat_ = false;
    if (starts("(*")) return bad("a verb, which RE2 does not have");
    if (!starts("(?")) {
      take(1);
      return Status::ok();
    }
    if (starts("(?P<") || (starts("(?<") && !starts("(?<=") && !starts("(?<!"))) {
      take(text_[at_ + 2] == 'P' ? 4 : 3);
      return Status::ok();
    }
    size_t end = at_ + 2;
    while (end < text_.size() && std::string_view("imsU-").find(text_[end]) != std::string::npos)
      ++end;
    if (end == text_.size() || (text_[end] != ':' && text_[end] != ')')) {
      return bad("a group that RE2 does not have; known: (...) (?:...) (?P<name>...) (?imsU-imsU)");
    }
    take(end + 1 - at_);
    return Status::ok();
  }

  Status escape(bool in_class) {
    after_repeat_ = false;
    if (at_ + 1 >= text_.size()) return bad("the pattern ends in a backslash");
    const char c = text_[at_ + 1];
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == 'Q' && !in_class) return quoted();
    if (c == 's' || c == 'S' || c == 'v') {  // PCRE2 counts other characters to these
      const std::string_view set = c == 'v' ? "\\x0b" : "\\t\\n\\f\\r ";
      if (c != 'S')
        out_ += in_class ? std::string(set) : "[" + std::string(set) + "]";
      else if (in_class)
        out_ += "\\x00-\\x08\\x0b\\x0e-\\x1f!-\\x{10ffff}";
      else
        out_ += "[^" + std::string(set) + "]";
      at_ += 2;
      return Status::ok();
    }
    constexpr std::string_view kBoth = "dDwWpPaftnrx01234567";
    constexpr std::string_view kOutside = "AzbB";  // classes have no positions
    const bool octal = c >= '0' && c <= '7';
    if (octal && c != '0' && !three_octal_digits())
      return bad("a back reference, which RE2 does not have");
    if (std::isalnum(byte) && kBoth.find(c) == std::string::npos &&
        (in_class || kOutside.find(c) == std::string::npos)) {
      return bad("the escape \\{}, which RE2 does not have{}", c,
                 c == 'C' ? " here: the strings are UTF-8" : "");
    }
    if (byte < 0x80) {
      take(2);
    } else {
      at_ += 1;  // a character that needs no escape
    }
    // \p{Greek}, \x{1F600}: the braces count nothing.
    if ((c == 'p' || c == 'P' || c == 'x') && starts("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) return bad("a brace is not closed");
      take(end + 1 - at_);
    }
    return Status::ok();
  }

  bool three_octal_digits() const {
    for (size_t i = 1; i <= 3; ++i) {
      if (at_ + i >= text_.size() || text_[at_ + i] < '0' || text_[at_ + i] > '7') return false;
    }
    return true;
  }

  // \Q...\E, the end being optional.
  Status quoted() {
    const size_t end = text_.find("\\E", at_ + 2);
    for (const char c : text_.substr(at_ + 2, end == std::string::npos ? end : end - at_ - 2)) {
      if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)))
        out_ += '\\';
      out_ += c;
    }
    at_ = end == std::string::npos ? text_.size() : end + 2;
    return Status::ok();
  }

  Status character_class() {
    after_repeat_ = false;
    take(starts("[^") ? 2 : 1);
    for (bool first = true;; first = false) {
      if (at_ >= text_.size()) return bad("a character class is not closed");
      if (starts("]") && !first) break;
      if (starts("[:")) {
        const size_t end = text_.find(":]", at_);
        if (end == std::string::npos) return bad("\"[:\" without \":]\"");
        take(end + 2 - at_);
      } else if (starts("\\")) {
        STOKER_TRY(escape(true));
      } else {
        if (starts("[") || starts("]")) out_ += '\\';
        take(1);
      }
    }
    take(1);
    return Status::ok();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  bool after_repeat_ = false;
};

}  // namespace

Result<std::string> pcre2_pattern(std::string_view re2) { return Translator(re2).run(); }

}  // namespace stoker
