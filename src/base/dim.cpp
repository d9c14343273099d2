// SPDX-License-Identifier: Apache-2.0
#include "base/dim.h"

#include <algorithm>

namespace stoker {
namespace {

enum Function { kFloorDiv, kCeilDiv, kMod, kMin, kMax, kBroadcast, kMul };
constexpr const char* kFunctionNames[] = {"floor_div", "ceil_div",  "mod", "min",
                                          "max",       "broadcast", "mul"};
constexpr size_t kMaxExpandedText = 4096;  // of a product
constexpr size_t kLargeText = 1024;
constexpr int kLargeDepth = 24;

int64_t floor_div_int(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

// Precondition: b != 0 for the divisions.
int64_t apply(int function, int64_t a, int64_t b) {
  switch (function) {
    case kFloorDiv: return floor_div_int(a, b);
    case kCeilDiv: return -floor_div_int(-a, b);
    case kMod: return a - floor_div_int(a, b) * b;
    case kMin: return std::min(a, b);
    case kBroadcast: return a == 1 ? b : a;
    default: return std::max(a, b);
  }
}

// Division of constants is done at once unless it would overflow or divide by zero.
bool divides(int64_t a, int64_t b) { return b != 0 && a != INT64_MIN; }

}  // namespace

// A polynomial: sum of coefficient * product of atoms. An atom is a symbol or a function call; its
// text is its identity. `atoms` holds what the atom texts stand for.
struct Dim::Node {
  struct Atom {
    int function = -1;  // -1: a symbol
    Dim a, b;
  };
  using Monomial = std::vector<std::string>;  // sorted atom texts, repeated for powers
  std::map<Monomial, int64_t> terms;          // no zero coefficients
  std::map<std::string, Atom> atoms;
  std::string text;
  int depth = 0;  // of nested calls
};

namespace {

template <class Node>
std::string polynomial_text(const Node& node) {
  if (node.terms.empty()) return "0";
  std::string text;
  // Symbols first, the constant last.
  std::vector<std::pair<std::vector<std::string>, int64_t>> terms(node.terms.begin(),
                                                                  node.terms.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& x, const auto& y) { return x.first.size() > y.first.size(); });
  for (const auto& [monomial, coefficient] : terms) {
    std::string term;
    if (monomial.empty()) {
      term = std::to_string(coefficient);
    } else {
      if (coefficient == -1) {
        term = "-";
      } else if (coefficient != 1) {
        term = std::to_string(coefficient) + "*";
      }
      for (size_t i = 0; i < monomial.size(); ++i) {
        if (i) term += '*';
        term += monomial[i];
      }
    }
    if (!text.empty() && term[0] != '-') text += '+';
    text += term;
  }
  return text;
}

}  // namespace

Dim::Dim(int64_t value) {
  auto node = std::make_shared<Node>();
  if (value != 0) node->terms[{}] = value;
  node->text = std::to_string(value);
  node_ = std::move(node);
}

Dim Dim::symbol(const std::string& name) {
  auto node = std::make_shared<Node>();
  node->terms[{name}] = 1;
  node->atoms.emplace(name, Node::Atom{});
  node->text = name;
  return Dim(std::move(node));
}

bool Dim::is_const() const {
  return node_->terms.empty() || (node_->terms.size() == 1 && node_->terms.begin()->first.empty());
}

bool Dim::is_symbol() const {
  if (node_->terms.size() != 1) return false;
  const auto& [monomial, coefficient] = *node_->terms.begin();
  return coefficient == 1 && monomial.size() == 1 && node_->atoms.at(monomial[0]).function < 0;
}

int64_t Dim::value() const { return node_->terms.empty() ? 0 : node_->terms.begin()->second; }

bool operator==(const Dim& a, const Dim& b) { return a.node_->text == b.node_->text; }

namespace {

// Coefficients saturate: an expression that large is refused when it is evaluated.
int64_t add_saturated(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}
int64_t mul_saturated(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : r;
}

}  // namespace

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(add_saturated(a.value(), b.value()));
  auto node = std::make_shared<Dim::Node>(*a.node_);
  for (const auto& [monomial, coefficient] : b.node_->terms) {
    auto& slot = node->terms[monomial];
    slot = add_saturated(slot, coefficient);
    if (slot == 0) node->terms.erase(monomial);
  }
  node->atoms.insert(b.node_->atoms.begin(), b.node_->atoms.end());
  node->text = polynomial_text(*node);
  node->depth = std::max(a.node_->depth, b.node_->depth);
  return Dim(std::move(node));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(mul_saturated(a.value(), b.value()));
  if (a.node_->terms.size() * b.node_->text.size() + b.node_->terms.size() * a.node_->text.size() >
      kMaxExpandedText) {
    return a.text() < b.text() ? Dim::call(kMul, a, b) : Dim::call(kMul, b, a);
  }
  auto node = std::make_shared<Dim::Node>();
  for (const auto& [ma, ca] : a.node_->terms) {
    for (const auto& [mb, cb] : b.node_->terms) {
      auto monomial = ma;
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      std::sort(monomial.begin(), monomial.end());
      auto& slot = node->terms[monomial];
      slot = add_saturated(slot, mul_saturated(ca, cb));
      if (slot == 0) node->terms.erase(monomial);
    }
  }
  node->atoms = a.node_->atoms;
  node->atoms.insert(b.node_->atoms.begin(), b.node_->atoms.end());
  node->text = polynomial_text(*node);
  node->depth = std::max(a.node_->depth, b.node_->depth);
  return Dim(std::move(node));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim Dim::call(int function, const Dim& a, const Dim& b) {
  auto node = std::make_shared<Node>();
  std::string text = std::string(kFunctionNames[function]) + "(" + a.text() + "," + b.text() + ")";
  node->terms[{text}] = 1;
  node->atoms.emplace(text, Node::Atom{function, a, b});
  node->text = std::move(text);
  node->depth = std::max(a.node_->depth, b.node_->depth) + 1;
  return Dim(std::move(node));
}

bool Dim::is_large() const { return node_->text.size() > kLargeText || node_->depth > kLargeDepth; }

namespace {

// a / b when every term divides exactly: constants by constants, and common symbols.
template <class NodeT>
bool divide_exactly(const NodeT& a, const NodeT& b,
                    std::map<std::vector<std::string>, int64_t>& out) {
  if (b.terms.size() != 1) return false;
  const auto& [divisor, coefficient] = *b.terms.begin();
  for (const auto& [monomial, c] : a.terms) {
    if (coefficient == 0 || (coefficient == -1 && c == INT64_MIN)) return false;
    if (c % coefficient != 0) return false;
    std::vector<std::string> rest = monomial;
    for (const auto& atom : divisor) {
      const auto it = std::find(rest.begin(), rest.end(), atom);
      if (it == rest.end()) return false;
      rest.erase(it);
    }
    out[rest] = c / coefficient;
  }
  return true;
}

}  // namespace

Dim Dim::floor_div(const Dim& a, const Dim& b) {
  if (b.is_const() && b.value() == 1) return a;
  if (a.is_const() && b.is_const() && divides(a.value(), b.value()))
    return Dim(apply(kFloorDiv, a.value(), b.value()));
  auto node = std::make_shared<Node>();
  if (divide_exactly(*a.node_, *b.node_, node->terms)) {
    node->atoms = a.node_->atoms;
    node->text = polynomial_text(*node);
    node->depth = a.node_->depth;
    return Dim(std::move(node));
  }
  return call(kFloorDiv, a, b);
}

Dim Dim::ceil_div(const Dim& a, const Dim& b) {
  if (b.is_const() && b.value() == 1) return a;
  if (a.is_const() && b.is_const() && divides(a.value(), b.value()))
    return Dim(apply(kCeilDiv, a.value(), b.value()));
  auto node = std::make_shared<Node>();
  if (divide_exactly(*a.node_, *b.node_, node->terms)) {
    node->atoms = a.node_->atoms;
    node->text = polynomial_text(*node);
    node->depth = a.node_->depth;
    return Dim(std::move(node));
  }
  return call(kCeilDiv, a, b);
}

Dim Dim::mod(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const() && divides(a.value(), b.value()))
    return Dim(apply(kMod, a.value(), b.value()));
  Node scratch;
  if (divide_exactly(*a.node_, *b.node_, scratch.terms)) return Dim(0);
  return call(kMod, a, b);
}

bool Dim::is_call_with(int function, const Dim& operand) const {
  if (node_->terms.size() != 1 || node_->terms.begin()->first.size() != 1 ||
      node_->terms.begin()->second != 1)
    return false;
  const Node::Atom& atom = node_->atoms.at(node_->terms.begin()->first[0]);
  return atom.function == function && (atom.a == operand || atom.b == operand);
}

// min(a, max(a, x)) is a, min(a, min(a, x)) is min(a, x), and the same for max.
Dim Dim::min(const Dim& a, const Dim& b) {
  if (a == b || b.is_call_with(kMax, a)) return a;
  if (a.is_call_with(kMax, b)) return b;
  if (b.is_call_with(kMin, a)) return b;
  if (a.is_call_with(kMin, b)) return a;
  if (a.is_const() && b.is_const()) return Dim(std::min(a.value(), b.value()));
  return call(kMin, a, b);
}

Dim Dim::max(const Dim& a, const Dim& b) {
  if (a == b || b.is_call_with(kMin, a)) return a;
  if (a.is_call_with(kMin, b)) return b;
  if (b.is_call_with(kMax, a)) return b;
  if (a.is_call_with(kMax, b)) return a;
  if (a.is_const() && b.is_const()) return Dim(std::max(a.value(), b.value()));
  return call(kMax, a, b);
}

Dim Dim::broadcast(const Dim& a, const Dim& b) {
  const Dim one(1);
  if (a == b || b == one || a.is_call_with(kBroadcast, b)) return a;
  if (a == one || b.is_call_with(kBroadcast, a)) return b;
  // Either they are equal or one of them is 1: a number other than 1 decides.
  if (a.is_const()) return a;
  if (b.is_const()) return b;
  return a.text() < b.text() ? call(kBroadcast, a, b) : call(kBroadcast, b, a);
}

Result<int64_t> Dim::evaluate(const SymbolValues& symbols) const {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : node_->terms) {
    int64_t term = coefficient;
    for (const auto& name : monomial) {
      const auto& atom = node_->atoms.at(name);
      int64_t value = 0;
      if (atom.function < 0) {
        const auto it = symbols.find(name);
        if (it == symbols.end())
          return invalid_argument("size {} is not bound in {}", name, text());
        value = it->second;
      } else {
        STOKER_ASSIGN(const int64_t a, atom.a.evaluate(symbols));
        STOKER_ASSIGN(const int64_t b, atom.b.evaluate(symbols));
        if (atom.function <= kMod && (b == 0 || a == INT64_MIN)) {
          return invalid_argument("division by zero or overflow in {}", text());
        }
        if (atom.function == kBroadcast && a != b && a != 1 && b != 1) {
          return invalid_argument("{} and {} do not broadcast: {} against {}", atom.a.text(),
                                  atom.b.text(), a, b);
        }
        if (atom.function != kMul) {
          value = apply(atom.function, a, b);
        } else if (__builtin_mul_overflow(a, b, &value)) {
          return invalid_argument("{} overflows", text());
        }
      }
      if (__builtin_mul_overflow(term, value, &term))
        return invalid_argument("{} overflows", text());
    }
    if (__builtin_add_overflow(sum, term, &sum)) return invalid_argument("{} overflows", text());
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& names) const {
  for (const auto& [name, atom] : node_->atoms) {
    if (atom.function < 0) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    } else {
      atom.a.collect_symbols(names);
      atom.b.collect_symbols(names);
    }
  }
}

Dim Dim::substitute(const std::map<std::string, Dim>& replacements) const {
  Dim sum(0);
  for (const auto& [monomial, coefficient] : node_->terms) {
    Dim term(coefficient);
    for (const auto& name : monomial) {
      const auto& atom = node_->atoms.at(name);
      if (atom.function < 0) {
        const auto it = replacements.find(name);
        term = term * (it == replacements.end() ? symbol(name) : it->second);
        continue;
      }
      const Dim a = atom.a.substitute(replacements), b = atom.b.substitute(replacements);
      switch (atom.function) {
        case kFloorDiv: term = term * floor_div(a, b); break;
        case kCeilDiv: term = term * ceil_div(a, b); break;
        case kMod: term = term * mod(a, b); break;
        case kMin: term = term * min(a, b); break;
        case kBroadcast: term = term * broadcast(a, b); break;
        case kMul: term = term * (a * b); break;
        default: term = term * max(a, b); break;
      }
    }
    sum = sum + term;
  }
  return sum;
}

std::string Dim::text() const { return node_->text; }

std::string dims_text(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) text += ',';
    text += dims[i].text();
  }
  return text + "]";
}

Result<std::vector<int64_t>> evaluate_dims(const Dims& dims, const SymbolValues& symbols) {
  std::vector<int64_t> values;
  values.reserve(dims.size());
  for (const Dim& dim : dims) {
    STOKER_ASSIGN(const int64_t value, dim.evaluate(symbols));
    values.push_back(value);
  }
  return values;
}

std::optional<std::vector<int64_t>> constant_dims(const Dims& dims) {
  std::vector<int64_t> values;
  for (const Dim& dim : dims) {
    if (!dim.is_const()) return std::nullopt;
    values.push_back(dim.value());
  }
  return values;
}

Dim product(const Dims& dims) {
  Dim total(1);
  for (const Dim& dim : dims) total = total * dim;
  return total;
}

}  // namespace stoker
