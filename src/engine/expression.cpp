// Size expressions of untrusted files: "floor_div(2*a+2*b,2)*floor_div(2*c+2*d,2)*..." doubles its
// terms with every factor, and constants may overflow; both are refused before Dim::parse sees the
// text.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "engine/codec.h"

namespace stoker::engine {
namespace {

constexpr size_t kMaxText = 4096;
constexpr int kMaxDepth = 32;
constexpr double kMaxTerms = 4096;
constexpr int kMaxFactors = 64;

// Upper bounds of what a piece of text stands for.
struct Bound {
  long double magnitude = 0;  // sum of the coefficients' absolute values
  double terms = 0;
  int degree = 0;
};

class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  Status run() {
    STOKER_ASSIGN(const Bound bound, sum(0));
    (void)bound;
    return position_ == text_.size() ? Status::ok() : bad("is malformed");
  }

 private:
  Status bad(const char* what) const {
    return corrupt_file("size expression '{}' {} at column {}", text_.substr(0, 200), what,
                        position_ + 1);
  }
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool take(char c) { return peek() == c ? (++position_, true) : false; }

  Status check(const Bound& bound) const {
    if (bound.terms > kMaxTerms || bound.degree > kMaxFactors) return bad("is too large");
    if (bound.magnitude > static_cast<long double>(INT64_MAX)) return bad("overflows");
    return Status::ok();
  }

  Result<Bound> sum(int depth) {
    if (depth > kMaxDepth) return bad("is nested too deeply");
    Bound total;
    take('-');
    do {
      STOKER_ASSIGN(const Bound term, product_of(depth));
      total.magnitude += term.magnitude;
      total.terms += term.terms;
      total.degree = std::max(total.degree, term.degree);
      STOKER_TRY(check(total));
    } while (take('+') || take('-'));
    return total;
  }

  Result<Bound> product_of(int depth) {
    Bound total{1, 1, 0};
    do {
      STOKER_ASSIGN(const Bound factor_bound, factor(depth));
      total.magnitude *= factor_bound.magnitude;
      total.terms *= factor_bound.terms;
      total.degree += factor_bound.degree;
      STOKER_TRY(check(total));
    } while (take('*'));
    return total;
  }

  Result<Bound> factor(int depth) {
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      long double value = 0;
      int digits = 0;
      for (; std::isdigit(static_cast<unsigned char>(peek())); ++position_, ++digits) {
        value = value * 10 + (peek() - '0');
      }
      if (digits > 19) return bad("has too large a number");
      return Bound{value, 1, 0};
    }
    const size_t start = position_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '.')
      ++position_;
    if (position_ == start) return bad("lacks a number or name");
    const bool product = text_.compare(start, position_ - start, "mul") == 0;
    if (!take('(')) return Bound{1, 1, 1};
    STOKER_ASSIGN(const Bound a, sum(depth + 1));
    if (!take(',')) return bad("lacks ','");
    STOKER_ASSIGN(const Bound b, sum(depth + 1));
    if (!take(')')) return bad("lacks ')'");
    if (product) {
      const Bound total{a.magnitude * b.magnitude, a.terms * b.terms, a.degree + b.degree};
      STOKER_TRY(check(total));
      return total;
    }
    // A division that comes out even, a min or a max may stand for one of its operands.
    return Bound{std::max({a.magnitude, b.magnitude, 1.0L}), std::max({a.terms, b.terms, 1.0}),
                 std::max({a.degree, b.degree, 1})};
  }

  const std::string& text_;
  size_t position_ = 0;
};

}  // namespace

Status check_expression(const std::string& text) {
  if (text.size() > kMaxText) {
    return corrupt_file("a size expression of {} characters; at most {} are allowed", text.size(),
                        kMaxText);
  }
  return Scanner(text).run();
}

}  // namespace stoker::engine
