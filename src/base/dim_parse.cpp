// The reader of Dim's text form.
// SPDX-License-Identifier: Apache-2.0
#include <cctype>

#include "base/dim.h"

namespace stoker {
namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Result<Dim> run() {
    STOKER_ASSIGN(Dim dim, sum(0));
    if (position_ != text_.size()) return bad("an operator");
    return dim;
  }

 private:
  Status bad(const char* expected) const {
    return invalid_argument("size expression '{}': expected {} at column {}", text_, expected,
                            position_ + 1);
  }
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }

  Result<Dim> sum(int depth) {
    if (depth > kMaxDepth)
      return invalid_argument("size expression '{}' is nested too deeply", text_);
    Dim total(0);
    bool negative = take('-');
    while (true) {
      STOKER_ASSIGN(Dim term, product_of(depth));
      total = negative ? total - term : total + term;
      if (take('+')) {
        negative = false;
      } else if (take('-')) {
        negative = true;
      } else {
        return total;
      }
    }
  }

  Result<Dim> product_of(int depth) {
    STOKER_ASSIGN(Dim total, factor(depth));
    while (take('*')) {
      STOKER_ASSIGN(Dim next, factor(depth));
      total = total * next;
    }
    return total;
  }

  Result<Dim> factor(int depth) {
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      int64_t value = 0;
      while (std::isdigit(static_cast<unsigned char>(peek()))) {
        if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
            __builtin_add_overflow(value, int64_t{peek() - '0'}, &value)) {
          return bad("a smaller number");
        }
        ++position_;
      }
      return Dim(value);
    }
    std::string name;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '.') {
      name += text_[position_++];
    }
    if (name.empty()) return bad("a number or a name");
    if (!take('(')) return Dim::symbol(name);
    STOKER_ASSIGN(Dim a, sum(depth + 1));
    if (!take(',')) return bad("','");
    STOKER_ASSIGN(Dim b, sum(depth + 1));
    if (!take(')')) return bad("')'");
    if (name == "floor_div") return Dim::floor_div(a, b);
    if (name == "ceil_div") return Dim::ceil_div(a, b);
    if (name == "mod") return Dim::mod(a, b);
    if (name == "min") return Dim::min(a, b);
    if (name == "max") return Dim::max(a, b);
    if (name == "mul") return a * b;
    if (name == "broadcast") return Dim::broadcast(a, b);
    return invalid_argument("size expression '{}': unknown function {}", text_, name);
  }

  const std::string& text_;
  size_t position_ = 0;
};

}  // namespace

Result<Dim> Dim::parse(const std::string& text) { return Parser(text).run(); }

}  // namespace stoker
