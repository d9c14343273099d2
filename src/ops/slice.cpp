// Elements from starts to before ends by steps along the axes; bounds clamp, negative ones count
// from the end.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr int64_t kFar = INT32_MAX;  // bounds beyond this mean "to the end" in exported models

struct AxisSlice {
  int64_t start = 0, step = 1, count = 0;
};

// The rule of ONNX for numbers: going forward both bounds clamp to [0, extent]; going backward the
// start clamps to [0, extent - 1] and the end to [-1, extent - 1].
AxisSlice slice_axis(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const auto clamp = [&](int64_t v, int64_t low, int64_t high) {
    if (v < 0) v = v < -extent ? -1 : v + extent;
    return std::min(std::max(v, low), high);
  };
  const int64_t high = step > 0 ? extent : extent - 1;
  const int64_t first = clamp(start, 0, high), last = clamp(end, step > 0 ? 0 : -1, high);
  const int64_t distance = step > 0 ? last - first : first - last;
  const uint64_t size = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  if (distance <= 0) return {std::max<int64_t>(first, 0), step, 0};
  return {first, step, static_cast<int64_t>((static_cast<uint64_t>(distance) + size - 1) / size)};
}

// A bound of an axis clamped to [low, high], as slice_axis does it.
std::optional<Dim> clamped(const Dim& extent, const Dim& bound, const Dim& low, const Dim& high) {
  if (bound.is_const() && bound.value() >= kFar) return high;
  const bool far_back = bound.is_const() && bound.value() <= -kFar;
  const bool to_extent = high == extent;  // otherwise to the last element
  if (far_back || (bound == low && to_extent))
    return to_extent || low == Dim(-1) ? low : Dim::min(low, high);
  if (bound == Dim(-1) && low == Dim(-1)) return high;
  const Dim forward = bound == extent || bound == high ? high : Dim::min(bound, high);
  const Dim back = Dim::max(extent + bound, low);
  const Dim from_end = to_extent || low == Dim(-1) ? back : Dim::min(back, high);
  if (surely_not_negative(bound)) return forward;
  if (bound.is_const()) return from_end;
  return select(is_greater(bound, Dim(-1)), forward, from_end);
}

std::optional<Dim> symbolic_count(const Dim& extent, const Dim& start, const Dim& end,
                                  int64_t step) {
  if (extent.is_const() && start.is_const() && end.is_const()) {
    return Dim(slice_axis(extent.value(), start.value(), end.value(), step).count);
  }
  if (step <= -kFar || step >= kFar) {  // one element at most
    const auto count = symbolic_count(extent, start, end, step < 0 ? -1 : 1);
    return count ? std::optional(Dim::min(*count, Dim(1))) : std::nullopt;
  }
  const Dim high = step > 0 ? extent : extent - Dim(1);
  // A start at the last element needs no clamping when the end is far: there is none in an empty
  // axis, and the distance from -1 to -1 is 0.
  const auto first =
      step < 0 && start == Dim(-1) ? std::optional(high) : clamped(extent, start, Dim(0), high);
  const auto last = clamped(extent, end, Dim(step > 0 ? 0 : -1), high);
  if (!first || !last) return std::nullopt;
  const Dim distance = step > 0 ? *last - *first : *first - *last;
  const Dim covered = surely_not_negative(distance) ? distance : Dim::max(distance, Dim(0));
  return round_up_div(covered, step < 0 ? -step : step);
}

void infer_sliced(InferContext& c, const std::vector<int64_t>& axes,
                  const std::vector<int64_t>& steps) {
  const auto elements = c.elements(0);
  const auto starts = c.constant_ints(1), ends = c.constant_ints(2);
  if (!elements || !starts || !ends || c.type(0).rank() != 1 || axes.size() != 1) return;
  const AxisSlice part =
      slice_axis(static_cast<int64_t>(elements->size()), (*starts)[0], (*ends)[0], steps[0]);
  Dims result;
  for (int64_t i = 0; i < part.count; ++i)
    result.push_back((*elements)[part.start + i * part.step]);
  c.shape_values[0] = std::move(result);
}

// nullopt: known only when the model runs.
Result<std::optional<std::vector<int64_t>>> slice_axes(const InferContext& c) {
  std::vector<int64_t> axes;
  if (c.has(3)) {
    const auto given = c.constant_ints(3);
    if (!given) return std::optional<std::vector<int64_t>>();
    axes = *given;
  } else {
    const auto count = vector_length(c, 1);
    if (!count) return std::optional<std::vector<int64_t>>();
    if (*count > c.type(0).rank())
      return invalid_model("slice: {} starts for input {}", *count, type_text(c.type(0)));
    for (int64_t i = 0; i < *count; ++i) axes.push_back(i);
  }
  for (int64_t& axis : axes) {
    STOKER_ASSIGN(axis, normalize_axis("slice", axis, c.type(0).rank()));
  }
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return invalid_model("slice: an axis is given twice in {}", shape_text(axes));
  return std::optional(std::move(axes));
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "slice", 0, "input", kAny));
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    if (c.has(i)) STOKER_TRY(check_input(c, "slice", i, "bounds", kIndices));
  }
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  const auto starts = c.elements(1), ends = c.elements(2);
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    if (c.has(i) && c.type(i).ranked && c.type(i).rank() != 1)
      return invalid_model("slice: input {} is {}, expected rank 1", i, type_text(c.type(i)));
  }
  STOKER_ASSIGN(const auto known_axes, slice_axes(c));
  if (!known_axes) return set_open(c, x.dtype, x.rank());
  const std::vector<int64_t>& axes = *known_axes;
  std::vector<int64_t> steps(axes.size(), 1);
  bool steps_known = true;
  if (c.has(4)) {
    const auto given = c.constant_ints(4);
    steps_known = given.has_value();
    if (given) steps = *given;
  }
  const size_t n = axes.size();
  if (vector_length(c, 1).value_or(n) != static_cast<int64_t>(n) || steps.size() != n ||
      (starts && starts->size() != n) || (ends && ends->size() != n)) {
    return invalid_model("slice: starts, ends, axes and steps must have one length, axes has {}",
                         n);
  }
  Dims dims = x.dims;
  for (size_t i = 0; i < n; ++i) {
    if (steps[i] == 0) return invalid_model("slice: step {} is 0", i);
    const auto count = starts && ends && steps_known
                           ? symbolic_count(dims[axes[i]], (*starts)[i], (*ends)[i], steps[i])
                           : std::nullopt;
    dims[axes[i]] = count ? *count : c.fresh();
  }
  set_output(c, 0, x.dtype, std::move(dims));
  if (steps_known) infer_sliced(c, axes, steps);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const std::vector<int64_t> starts = to_ints(c.inputs[1]), ends = to_ints(c.inputs[2]);
  for (size_t i = 2; i < c.inputs.size(); ++i) {
    if (c.has(i)) STOKER_TRY(check_count(c.inputs[i], c.inputs[1].count(), "slice", "a bound"));
  }
  StridedBlock from{0, x.strides};
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        wrap_axis(c.has(3) ? Reader(c.inputs[3]).integer(i) : static_cast<int64_t>(i), x.rank());
    const int64_t step = c.has(4) ? Reader(c.inputs[4]).integer(i) : 1;
    if (step == 0 || axis < 0 || axis >= x.rank())
      return invalid_argument("slice: step 0 or a wrong axis");
    const AxisSlice part = slice_axis(x.shape[axis], starts[i], ends[i], step);
    if (part.count != y.shape[axis]) {
      return invalid_argument("slice: axis {} gives {} elements, expected {}", axis, part.count,
                              y.shape[axis]);
    }
    from.offset += part.start * x.strides[axis];
    from.strides[axis] = part.count > 1 ? x.strides[axis] * step : 0;
  }
  return copy_block(y.shape, y, {0, y.strides}, x, from);
}

}  // namespace

extern const Op op_slice;
const Op op_slice = {
    .name = "slice",
    .min_inputs = 3,
    .max_inputs = 5,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
