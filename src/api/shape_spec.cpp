// SPDX-License-Identifier: Apache-2.0
#include "api/shape_spec.h"

#include <cctype>

namespace stoker {
namespace {

constexpr const char* kGrammar =
    "expected NAME:1x3x224x224, NAME:MIN..MAX or NAME:MIN..MAX,opt=SHAPE, a dim being a number or "
    "a name";

Status bad(const std::string& text, const std::string& why) {
  return invalid_argument("--shapes '{}': {}; {}", text, why, kGrammar);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// A number, or a symbol's name (which must not begin with a digit).
Result<Dim> parse_dim(const std::string& text, const std::string& spec) {
  if (text.empty()) return bad(spec, "a dim is empty");
  if (std::isdigit(static_cast<unsigned char>(text[0]))) {
    int64_t value = 0;
    for (const char c : text) {
      if (!std::isdigit(static_cast<unsigned char>(c)))
        return bad(spec, "'" + text + "' is not a size");
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{c - '0'}, &value)) {
        return bad(spec, "'" + text + "' is too large");
      }
    }
    return Dim(value);
  }
  for (const char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      return bad(spec, "'" + text + "' is not a name");
  }
  return Dim::symbol(text);
}

// Dims are separated by x, which may also stand inside a name ("xdim"): a name is taken as one
// piece only when it holds no x after its first letter. An empty text is a scalar's shape.
Result<Dims> parse_dims(const std::string& text, const std::string& spec) {
  Dims dims;
  if (text.empty()) return dims;
  for (const std::string& part : split(text, 'x')) {
    STOKER_ASSIGN(Dim dim, parse_dim(part, spec));
    dims.push_back(std::move(dim));
  }
  return dims;
}

}  // namespace

Result<ShapeSpec> parse_shape_spec(const std::string& text, const Graph& graph) {
  // The name may hold colons ("input:0"): the last one separates.
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad(text, "no input name");
  ShapeSpec spec;
  spec.input = text.substr(0, colon);
  const std::vector<std::string> parts = split(text.substr(colon + 1), ',');
  if (parts.size() > 2 || (parts.size() == 2 && parts[1].rfind("opt=", 0) != 0))
    return bad(text, "unknown part");
  const size_t dots = parts[0].find("..");
  STOKER_ASSIGN(const Dims low, parse_dims(parts[0].substr(0, dots), text));
  Dims high = low;
  if (dots != std::string::npos) {
    STOKER_ASSIGN(high, parse_dims(parts[0].substr(dots + 2), text));
  }
  Dims optimum = low;
  if (parts.size() == 2) {
    STOKER_ASSIGN(optimum, parse_dims(parts[1].substr(4), text));
  } else if (dots != std::string::npos) {
    optimum = high;
  }
  if (low.size() != high.size() || low.size() != optimum.size())
    return bad(text, "shapes of different rank");
  const Value* input = nullptr;
  std::string names;
  for (const Value* candidate : graph.inputs) {
    names += (names.empty() ? "" : ", ") + candidate->name;
    if (candidate->name == spec.input || candidate->origin == spec.input) input = candidate;
  }
  if (!input) {
    return invalid_argument("--shapes '{}': the model has no input '{}'; its inputs are: {}", text,
                            spec.input, names);
  }
  spec.input = input->name;
  if (input->type.ranked && input->type.dims.size() != low.size()) {
    return invalid_argument("--shapes '{}': input '{}' has rank {}, {}", text, spec.input,
                            input->type.dims.size(), dims_text(input->type.dims));
  }
  for (size_t d = 0; d < low.size(); ++d) {
    if (!low[d].is_const()) {
      spec.dims.push_back(low[d]);
      continue;
    }
    if (!high[d].is_const() || !optimum[d].is_const()) return bad(text, "a range of names");
    const SymbolProfile range{low[d].value(), optimum[d].value(), high[d].value()};
    if (range.min > range.max || range.optimum < range.min || range.optimum > range.max) {
      return bad(text, fmt::format("dim {} has min {}, opt {} and max {}, expected them in order",
                                   d, range.min, range.optimum, range.max));
    }
    if (range.min == range.max) {
      spec.dims.push_back(low[d]);
      continue;
    }
    const std::string own = input->type.ranked ? input->type.dims[d].text() : "";
    const std::string name = graph.find_symbol(own) ? own : d == 0 ? "N" : "d" + std::to_string(d);
    spec.dims.push_back(Dim::symbol(name));
    spec.profile[name] = range;
  }
  return spec;
}

}  // namespace stoker
