// x limited to [min, max]; both limits are optional scalars. When min > max the result is max.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/support.h"

namespace stoker {

namespace {

template <class T>
T clip(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class T>
Status clip_integers(const EvalContext& c) {
  const auto limit = [&](size_t i, T fallback) {
    if (!c.has(i)) return fallback;
    return static_cast<T>(load_int(c.inputs[i].dtype)(c.inputs[i].data, 0));
  };
  const T low = limit(1, std::numeric_limits<T>::min()),
          high = limit(2, std::numeric_limits<T>::max());
  return map_number(
      c, [=](auto x) { return static_cast<decltype(x)>(clip(static_cast<T>(x), low, high)); });
}

// Sizes within their limits.
void clip_elements(InferContext& c) {
  const ValueType& out = c.outputs[0];
  auto elements = c.elements(0);
  if (!elements || !out.ranked || out.rank() > 1 || !is_integer(out.dtype)) return;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    if (!c.has(i)) continue;
    const auto limit = c.elements(i);
    if (!limit || limit->size() != 1) return;
    for (Dim& d : *elements) d = i == 1 ? Dim::max(d, (*limit)[0]) : Dim::min(d, (*limit)[0]);
  }
  c.shape_values[0] = std::move(elements);
}

}  // namespace

extern const Op op_clip;
const Op op_clip = {
    .name = "clip",
    .max_inputs = 3,
    .infer = [](InferContext& c) -> Status {
      for (size_t i = 1; i < c.inputs.size(); ++i) {
        if (!c.has(i)) continue;
        STOKER_TRY(check_same_dtype(c, "clip", 0, i));
        if (!c.type(i).ranked) continue;
        const Dim count = product(c.type(i).dims);
        if (c.type(i).rank() > 1 || (count.is_const() && count != Dim(1))) {
          return invalid_model("clip: limit (input {}) is {}, expected a scalar", i,
                               type_text(c.type(i)));
        }
      }
      STOKER_TRY(infer_unary(c, "clip", kNumbers));
      clip_elements(c);
      return Status::ok();
    },
    .evaluate = [](const EvalContext& c) -> Status {
      for (size_t i = 1; i < c.inputs.size(); ++i) {
        if (c.has(i)) STOKER_TRY(check_count(c.inputs[i], 1, "clip", "a limit"));
      }
      if (c.inputs[0].dtype == DType::kU64) return clip_integers<uint64_t>(c);
      if (is_integer(c.inputs[0].dtype)) return clip_integers<int64_t>(c);
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const auto limit = [&](size_t i, double fallback) {
        return c.has(i) ? load_double(c.inputs[i].dtype)(c.inputs[i].data, 0) : fallback;
      };
      const double low = limit(1, -kInfinity), high = limit(2, kInfinity);
      return map_float(c, [=](double x) { return clip(x, low, high); });
    },
    .pointwise = true,
};

}  // namespace stoker
