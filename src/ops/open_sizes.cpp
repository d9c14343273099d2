// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"

namespace stoker {

std::optional<int64_t> vector_length(const InferContext& c, size_t i) {
  if (!c.has(i) || !c.type(i).ranked || c.type(i).rank() > 1) return std::nullopt;
  return c.type(i).rank() == 0 ? 1 : c.type(i).dims[0].constant();
}

Dims fresh_dims(const InferContext& c, int64_t rank) {
  Dims dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(c.fresh());
  return dims;
}

Status set_open(InferContext& c, DType dtype, std::optional<int64_t> rank) {
  if (!rank || *rank < 0 || *rank > kMaxOpenRank) return set_unranked(c, dtype);
  set_output(c, 0, dtype, fresh_dims(c, *rank));
  return Status::ok();
}

Dim is_greater(const Dim& a, const Dim& b) { return Dim::min(Dim(1), Dim::max(Dim(0), a - b)); }

Dim is_equal(const Dim& a, const Dim& b) {
  return Dim(1) - Dim::min(Dim(1), Dim::max(a - b, b - a));
}

std::optional<Dim> select(const Dim& condition, const Dim& a, const Dim& b) {
  if (condition.is_const()) return condition == Dim(0) ? b : a;
  if (a == b) return a;
  // Numbers that stand for "far away" would overflow in the sum.
  const auto far = [](const Dim& d) {
    constexpr int64_t kFar = int64_t{1} << 40;
    return d.is_const() && (d.value() > kFar || d.value() < -kFar);
  };
  if (far(a) || far(b)) return std::nullopt;
  return short_enough(condition * a + (Dim(1) - condition) * b);
}

void infer_variadic_elements(InferContext& c, Dim (*f)(const Dim& a, const Dim& b)) {
  const ValueType& out = c.outputs[0];
  if (!out.ranked || out.rank() > 1 || !is_integer(out.dtype)) return;
  auto result = c.elements(0);
  for (size_t i = 1; result && i < c.inputs.size(); ++i) {
    const auto more = c.elements(i);
    if (!more) return;
    if (result->size() == 1) result->resize(more->size(), (*result)[0]);
    if (more->size() != 1 && more->size() != result->size()) return;
    for (size_t k = 0; k < result->size(); ++k) {
      const auto value = short_enough(f((*result)[k], (*more)[more->size() == 1 ? 0 : k]));
      if (!value) return;
      (*result)[k] = *value;
    }
  }
  c.shape_values[0] = std::move(result);
}

std::optional<Dim> short_enough(const Dim& d) {
  constexpr size_t kLongest = 1000;
  return d.text().size() <= kLongest ? std::optional(d) : std::nullopt;
}

bool surely_not_negative(const Dim& d) {
  return d.is_const() ? d.value() >= 0 : d.text().find('-') == std::string::npos;
}

}  // namespace stoker
