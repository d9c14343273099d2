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

void scatter_sizes(InferContext& c, ScatterReduction reduction) {
  auto elements = c.elements(0);
  const auto indices = c.constant_ints(1);
  const auto updates = c.elements(2);
  if (!elements || !indices || !updates || c.type(0).rank() != 1 || !is_integer(c.type(0).dtype))
    return;
  if (indices->size() != updates->size()) return;
  for (size_t k = 0; k < indices->size(); ++k) {
    const int64_t n = static_cast<int64_t>(elements->size()), at = wrap_axis((*indices)[k], n);
    if (at < 0 || at >= n) return;
    Dim& d = (*elements)[at];
    const Dim& update = (*updates)[k];
    switch (reduction) {
      case ScatterReduction::kAdd: d = d + update; break;
      case ScatterReduction::kMul: d = d * update; break;
      case ScatterReduction::kMin: d = Dim::min(d, update); break;
      case ScatterReduction::kMax: d = Dim::max(d, update); break;
      default: d = update;
    }
  }
  c.shape_values[0] = std::move(elements);
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
