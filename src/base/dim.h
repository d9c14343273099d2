// Dim: an extent that is a number or a symbolic expression such as N, 4*N+1 or ceil(H/2).
// Expressions are kept as polynomials over atoms (symbols and non-linear functions), so equal
// expressions compare equal and (256*N)/256 is N again. A product of long sums stays
// unexpanded, as mul(a,b), so that work is linear in the text. Immutable values, cheap to copy,
// thread-safe to read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

// Values of symbols, by name.
using SymbolValues = std::map<std::string, int64_t>;

class Dim {
 public:
  Dim(int64_t value = 0);
  static Dim symbol(const std::string& name);

  bool is_const() const;
  bool is_symbol() const;  // one symbol, and nothing done to it
  int64_t value() const;   // of a constant
  std::optional<int64_t> constant() const {
    return is_const() ? std::optional<int64_t>(value()) : std::nullopt;
  }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }
  static Dim floor_div(const Dim& a, const Dim& b);  // rounds towards minus infinity
  static Dim ceil_div(const Dim& a, const Dim& b);
  static Dim mod(const Dim& a, const Dim& b);  // sign of b
  static Dim min(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);
  // The extent that two broadcast to: equal ones, or the other where one is 1.
  static Dim broadcast(const Dim& a, const Dim& b);

  // Longer or deeper than is worth computing with: inference names such a size by a new symbol.
  // What is not large fits the limits of the engine format.
  bool is_large() const;

  // Checked evaluation: unknown symbol, overflow, division by zero are errors.
  Result<int64_t> evaluate(const SymbolValues& symbols) const;
  void collect_symbols(std::vector<std::string>& names) const;  // appended once each
  Dim substitute(const std::map<std::string, Dim>& replacements) const;

  // "3", "N", "4*N+1", "ceil_div(H,2)"; parse reads exactly this form.
  std::string text() const;
  static Result<Dim> parse(const std::string& text);

 private:
  struct Node;
  explicit Dim(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  bool is_call_with(int function, const Dim& operand) const;
  static Dim call(int function, const Dim& a, const Dim& b);
  std::shared_ptr<const Node> node_;
};

using Dims = std::vector<Dim>;

std::string dims_text(const Dims& dims);  // "[N,3,224,224]"
Result<std::vector<int64_t>> evaluate_dims(const Dims& dims, const SymbolValues& symbols);
std::optional<std::vector<int64_t>> constant_dims(const Dims& dims);
Dim product(const Dims& dims);

}  // namespace stoker
