// SPDX-License-Identifier: Apache-2.0
#include "ops/scatter.h"

namespace stoker {
namespace {

template <class T>
T combine(ScatterReduction reduction, T a, T b) {
  switch (reduction) {
    case ScatterReduction::kAdd: return wrapping_add(a, b);
    case ScatterReduction::kMul: return wrapping_mul(a, b);
    case ScatterReduction::kMin: return std::min(a, b);
    case ScatterReduction::kMax: return std::max(a, b);
    default: return b;
  }
}

}  // namespace

Result<ScatterReduction> scatter_reduction(const Attributes& attributes, const char* op) {
  const std::string name = attributes.get_string("reduction", "none");
  if (name == "none") return ScatterReduction::kNone;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "min") return ScatterReduction::kMin;
  if (name == "max") return ScatterReduction::kMax;
  return invalid_model("{}: reduction is \"{}\", expected none, add, mul, min or max", op, name);
}

Scatter::Scatter(ScatterReduction reduction, const TensorView& y, const TensorView& updates)
    : reduction_(reduction), y_(y), updates_(updates), move_(y, updates) {}

void Scatter::operator()(int64_t to, int64_t from) const {
  if (reduction_ == ScatterReduction::kNone) {
    move_(to, from);
  } else if (y_.dtype == DType::kU64) {
    const LoadInt load = load_int(y_.dtype);
    const uint64_t a = static_cast<uint64_t>(load(y_.data, to)),
                   b = static_cast<uint64_t>(load(updates_.data, from));
    store_int(y_.dtype)(y_.data, to, static_cast<int64_t>(combine(reduction_, a, b)));
  } else if (is_exact_integer(y_.dtype)) {
    const LoadInt load = load_int(y_.dtype);
    const int64_t value = combine(reduction_, load(y_.data, to), load(updates_.data, from));
    store_int(y_.dtype)(y_.data, to, wrap_int(y_.dtype, value));
  } else {
    const LoadDouble load = load_double(y_.dtype);
    store_double(y_.dtype)(y_.data, to,
                           combine(reduction_, load(y_.data, to), load(updates_.data, from)));
  }
}

}  // namespace stoker
