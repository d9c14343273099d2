// Samples the planes of the input at the normalized positions of a grid, by the nearest element or
// by linear or cubic interpolation over all spatial axes.
// Inputs: x [N,C,D1..Dr], grid [N,O1..Or,r], whose last axis names positions innermost axis first.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling.h"

namespace stoker {

namespace {

enum class Padding { kZeros, kBorder, kReflection };

struct Sampling {
  std::string mode;
  Padding padding = Padding::kZeros;
  bool corners = false;
};

Result<Sampling> sampling_of(const Attributes& attributes) {
  Sampling s;
  s.mode = attributes.get_string("mode", "linear");
  if (s.mode != "linear" && s.mode != "nearest" && s.mode != "cubic") {
    return invalid_model("grid_sample: mode is \"{}\", expected linear, nearest or cubic", s.mode);
  }
  const std::string padding = attributes.get_string("padding_mode", "zeros");
  if (padding == "border") {
    s.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    s.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return invalid_model(
        "grid_sample: padding_mode is \"{}\", expected zeros, border or reflection", padding);
  }
  s.corners = attributes.get_int("align_corners") != 0;
  return s;
}

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Sampling s, sampling_of(c.attributes));
  STOKER_TRY(
      check_input(c, "grid_sample", 0, "input", s.mode == "nearest" ? kAny : kNumbers | kBools));
  STOKER_TRY(check_input(c, "grid_sample", 1, "grid", kFloats));
  const ValueType &x = c.type(0), &grid = c.type(1);
  if (!all_ranked(c)) return set_unranked(c, x.dtype);
  if (x.rank() < 3 || grid.rank() != x.rank()) {
    return invalid_model(
        "grid_sample: input {} and grid {}, expected equal ranks of at least 3 ([N,C,...] and "
        "[N,...,spatial axes])",
        type_text(x), type_text(grid));
  }
  STOKER_TRY(same_dim("grid_sample", "the grid's last axis and the number of spatial axes",
                      grid.dims.back(), Dim(x.rank() - 2))
                 .status());
  STOKER_ASSIGN(const Dim batch,
                same_dim("grid_sample", "the batches of input and grid", x.dims[0], grid.dims[0]));
  Dims dims = {batch, x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

// One axis of the input: its extent and the range in which positions are reflected.
struct Axis {
  int64_t extent;
  double low, high;
};

double reflect(double at, const Axis& axis) {
  const double range = axis.high - axis.low;
  if (!(range > 0)) return axis.low;
  const bool below = at < axis.low;
  if (!below && !(at > axis.high)) return at;
  const double over = below ? axis.low - at : at - axis.high;
  const double turns = std::floor(over / range), rest = over - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return below == even ? axis.low + rest : axis.high - rest;
}

double clamp_to(double at, const Axis& axis) {
  // NaN goes to 0.
  return std::min(std::max(0.0, at), static_cast<double>(axis.extent - 1));
}

template <class T>
double denormalize(T n, const Axis& axis, bool corners) {
  const T extent = static_cast<T>(axis.extent);
  return static_cast<double>(corners ? (n + 1) / 2 * (extent - 1) : ((n + 1) * extent - 1) / 2);
}

// The position on the axis that a grid value names.
double position_on(double grid, DType dtype, const Axis& axis, const Sampling& s) {
  const bool nearest = s.mode == "nearest";
  // Whether a position lies halfway between two elements must not depend on the precision of this
  // evaluation.
  double at = nearest && dtype != DType::kF64
                  ? denormalize(static_cast<float>(grid), axis, s.corners)
                  : denormalize(grid, axis, s.corners);
  if (nearest) at = std::nearbyint(at);
  // As PyTorch has it: cubic mixes the elements around a position in the border.
  const bool free = s.padding == Padding::kZeros ||
                    (s.padding == Padding::kBorder && s.mode == "cubic" && !std::isnan(at));
  if (free) {
    // Farther away than any tap reaches; keeps what follows in the range of integers.
    const double far = static_cast<double>(axis.extent) + 4;
    return std::isnan(at) ? far : std::clamp(at, -4.0, far);
  }
  if (at >= axis.low && at <= axis.high) return at;
  if (s.padding == Padding::kReflection) at = reflect(at, axis);
  return s.padding == Padding::kBorder || !std::isfinite(at) ? clamp_to(at, axis) : at;
}

// The element that stands at an integer position, -1 for a zero.
int64_t element_at(double at, const Axis& axis, const Sampling& s) {
  if (s.padding == Padding::kBorder) at = clamp_to(at, axis);
  if (s.padding == Padding::kReflection) at = clamp_to(std::trunc(reflect(at, axis)), axis);
  return at >= 0 && at < static_cast<double>(axis.extent) ? static_cast<int64_t>(at) : -1;
}

std::array<double, 4> cubic_weights(double x) {
  constexpr double a = -0.75;
  const auto inner = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  const auto outer = [](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  return {outer(x + 1), inner(x), inner(1 - x), outer(2 - x)};
}

SampleTaps taps_on(double at, const Axis& axis, const Sampling& s) {
  SampleTaps taps;
  const auto add = [&](double position, double weight) {
    const int64_t index = element_at(position, axis, s);
    if (index >= 0) taps.add(index, weight);
  };
  if (s.mode == "nearest") {
    add(at, 1);
    return taps;
  }
  const double low = std::floor(at), part = at - low;
  if (s.mode == "linear") {
    add(low, 1 - part);
    add(low + 1, part);
    return taps;
  }
  const std::array<double, 4> weights = cubic_weights(part);
  for (int k = 0; k < 4; ++k) add(low + k - 1, weights[static_cast<size_t>(k)]);
  return taps;
}

// The taps on all axes at one position of the output.
class GridTaps {
 public:
  GridTaps(const TensorView& x, const TensorView& grid, Sampling sampling)
      : grid_(grid), value_(grid), sampling_(std::move(sampling)) {
    for (size_t d = 2; d < x.shape.size(); ++d) {
      const double extent = static_cast<double>(x.shape[d]);
      axes_.push_back(sampling_.corners ? Axis{x.shape[d], 0, extent - 1}
                                        : Axis{x.shape[d], -0.5, extent - 0.5});
    }
    taps_.resize(axes_.size());
  }
  // `point`: row-major position among the points of the grid, over the batch.
  const std::vector<SampleTaps>& at(int64_t point) {
    const size_t r = axes_.size();
    for (size_t d = 0; d < r; ++d) {
      const double n =
          value_.number((point + 1) * static_cast<int64_t>(r) - 1 - static_cast<int64_t>(d));
      taps_[d] = taps_on(position_on(n, grid_.dtype, axes_[d], sampling_), axes_[d], sampling_);
    }
    return taps_;
  }

 private:
  const TensorView& grid_;
  Reader value_;
  Sampling sampling_;
  std::vector<Axis> axes_;
  std::vector<SampleTaps> taps_;
};

// body(position in y, position of the plane in x, taps)
template <class Body>
void for_each_sample(const EvalContext& c, GridTaps& grid, Body body) {
  const TensorView& y = c.outputs[0];
  const int64_t channels = y.shape[1], planes = y.shape[0] * channels;
  const int64_t points = planes == 0 ? 0 : y.count() / planes;
  if (!c.wanted.empty()) {
    for (const int64_t position : c.wanted) {
      const int64_t plane = position / points;
      body(position, plane, grid.at(plane / channels * points + position % points));
    }
    return;
  }
  for (int64_t n = 0; n < y.shape[0]; ++n) {
    for (int64_t point = 0; point < points; ++point) {
      const std::vector<SampleTaps>& taps = grid.at(n * points + point);
      for (int64_t plane = n * channels; plane < (n + 1) * channels; ++plane)
        body(plane * points + point, plane, taps);
    }
  }
}

Status check_shapes(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &grid = c.inputs[1], &y = c.outputs[0];
  bool fits = x.rank() >= 3 && grid.rank() == x.rank() && y.rank() == x.rank() &&
              grid.shape.back() == x.rank() - 2;
  for (int d = 0; fits && d < x.rank(); ++d) {
    fits = d < 2 ? x.shape[d] == y.shape[d] : grid.shape[d - 1] == y.shape[d];
  }
  if (fits && grid.shape[0] == x.shape[0]) return Status::ok();
  return invalid_argument("grid_sample: input {}, grid {} and output {} do not belong together",
                          shape_text(x.shape), shape_text(grid.shape), shape_text(y.shape));
}

// Copies, so that every dtype keeps its exact values.
Status copy_nearest(const EvalContext& c, GridTaps& grid) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_ASSIGN(const Tensor zero, Tensor::allocate(x.dtype, {}));
  const TensorView zero_view = view_of(zero);
  const Mover move(y, x), clear(y, zero_view);
  // Of the output only the offsets are asked for: not every dtype can be read as a number.
  const Shape strides(x.strides.begin() + 2, x.strides.end());
  const int64_t channels = x.shape[1];
  std::vector<int64_t> at(y.shape.size());
  for_each_sample(c, grid, [&](int64_t position, int64_t plane, const auto& taps) {
    unravel(y.shape, position, at.data());
    const int64_t to = dot(at.data(), y.strides);
    int64_t from = plane / channels * x.strides[0] + plane % channels * x.strides[1];
    for (size_t d = 0; d < taps.size(); ++d) {
      if (taps[d].count == 0) return clear(to, 0);
      from += taps[d].index[0] * strides[d];
    }
    move(to, from);
  });
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_shapes(c));
  STOKER_ASSIGN(const Sampling s, sampling_of(c.attributes));
  if (y.count() == 0) return Status::ok();
  if (x.count() == 0) return invalid_argument("grid_sample: the input is empty");
  GridTaps grid(x, c.inputs[1], s);
  if (s.mode == "nearest" && x.dtype == y.dtype) return copy_nearest(c, grid);
  const std::vector<double> values = to_doubles(x);
  const Shape in(x.shape.begin() + 2, x.shape.end()), strides = dense_strides(in);
  const int64_t plane_size = x.count() / (x.shape[0] * x.shape[1]);
  const Writer write(y);
  for_each_sample(c, grid, [&](int64_t position, int64_t plane, const auto& taps) {
    write.number(position, sample(values.data() + plane * plane_size, strides, taps));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_grid_sample;
const Op op_grid_sample = {
    .name = "grid_sample",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"align_corners", AttributeKind::kInt},
                   {"mode", AttributeKind::kString},
                   {"padding_mode", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
