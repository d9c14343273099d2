// SPDX-License-Identifier: Apache-2.0
#include "ops/resample.h"

#include <numeric>

namespace stoker {

std::vector<int64_t> resized_axes(const Attributes& attributes, int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  axes = attributes.get_ints("axes", axes);
  for (int64_t& axis : axes) axis = wrap_axis(axis, rank);
  return axes;
}

std::vector<ResizeAxis> resize_axes(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  std::vector<ResizeAxis> result(x.shape.size());
  for (size_t d = 0; d < result.size(); ++d) {
    result[d].in = x.shape[d];
    result[d].out = y.shape[d];
    result[d].length = static_cast<double>(y.shape[d]);
    result[d].scale =
        static_cast<double>(y.shape[d]) / static_cast<double>(std::max<int64_t>(x.shape[d], 1));
  }
  const std::vector<int64_t> axes = resized_axes(c.attributes, x.rank());
  const bool scaled = c.has(2) && c.inputs[2].count() > 0;
  const std::vector<double> scales = scaled ? to_doubles(c.inputs[2]) : std::vector<double>();
  const std::vector<double> sizes =
      !scaled && c.has(3) ? to_doubles(c.inputs[3]) : std::vector<double>();
  const std::vector<double> roi = c.has(1) ? to_doubles(c.inputs[1]) : std::vector<double>();
  const std::string policy = c.attributes.get_string("keep_aspect_ratio_policy", "stretch");
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = result[axes[i]];
    if (i < scales.size()) {
      axis.scale = scales[i];
      axis.length = scales[i] * static_cast<double>(axis.in);
    }
    if (roi.size() == 2 * axes.size()) {
      axis.roi_start = roi[i];
      axis.roi_end = roi[i + axes.size()];
    }
  }
  if (!sizes.empty() && policy != "stretch") {
    double scale = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      const double s = sizes[i] / static_cast<double>(result[axes[i]].in);
      scale = i == 0 ? s : policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
    }
    for (const int64_t axis : axes) result[axis].scale = scale;
  }
  return result;
}

namespace {

// The formulas of ONNX in the precision T.
template <class T>
T source_coordinate(const std::string& mode, const ResizeAxis& a, int64_t at) {
  const T x = static_cast<T>(at), scale = static_cast<T>(a.scale), in = static_cast<T>(a.in),
          out = static_cast<T>(a.out);
  const T half = static_cast<T>(0.5), start = static_cast<T>(a.roi_start),
          end = static_cast<T>(a.roi_end);
  if (mode == "asymmetric") return x / scale;
  if (mode == "align_corners") {
    // ONNX takes the fractional length; for nearest ONNX Runtime's integer one keeps the last
    // index.
    const T length = std::is_same_v<T, float> ? out : static_cast<T>(a.length);
    return a.out == 1 ? T(0) : x * (in - 1) / (length - 1);
  }
  if (mode == "pytorch_half_pixel") return a.out > 1 ? (x + half) / scale - half : T(0);
  if (mode == "tf_half_pixel_for_nn") return (x + half) / scale;
  if (mode == "tf_crop_and_resize") {
    return a.out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)
                     : half * (start + end) * (in - 1);
  }
  if (mode == "half_pixel_symmetric") {
    const T adjustment = out / (scale * in);
    return in / 2 * (1 - adjustment) + (x + half) / scale - half;
  }
  return (x + half) / scale - half;
}

std::string coordinate_mode(const Attributes& attributes) {
  return attributes.get_string("coordinate_transformation_mode", "half_pixel");
}

double cubic_weight(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

}  // namespace

bool extrapolates(const Attributes& attributes, const ResizeAxis& axis, int64_t at) {
  const std::string mode = coordinate_mode(attributes);
  if (mode != "tf_crop_and_resize") return false;
  const double x = source_coordinate<double>(mode, axis, at);
  return x < 0 || x > static_cast<double>(axis.in - 1);
}

int64_t nearest_index(const Attributes& attributes, const ResizeAxis& axis, int64_t at) {
  if (axis.scale == 1 && axis.in == axis.out && coordinate_mode(attributes) != "tf_crop_and_resize")
    return at;
  // In f32, as ONNX Runtime: which neighbour wins a near tie depends on it.
  const float x = source_coordinate<float>(coordinate_mode(attributes), axis, at);
  const std::string mode = attributes.get_string("nearest_mode", "round_prefer_floor");
  float index = 0;
  if (mode == "floor")
    index = std::floor(x);
  else if (mode == "ceil")
    index = std::ceil(x);
  else if (mode == "round_prefer_ceil")
    index = std::round(x);
  else if (mode == "simple")
    index = axis.scale < 1 ? std::ceil(x) : std::trunc(x);
  else
    index = x == std::floor(x) + 0.5f ? std::floor(x) : std::round(x);
  // Compared as floats, since a hostile scale may give anything, NaN too.
  if (!(index > 0)) return 0;
  return index < static_cast<float>(axis.in) ? std::min(static_cast<int64_t>(index), axis.in - 1)
                                             : axis.in - 1;
}

AxisTaps axis_taps(const Attributes& attributes, const ResizeAxis& axis, int64_t at) {
  AxisTaps taps;
  double x = source_coordinate<double>(coordinate_mode(attributes), axis, at);
  const double limit = static_cast<double>(axis.in);
  x = std::isnan(x) ? 0.0 : std::clamp(x, -2 * limit - 4, 2 * limit + 4);
  const bool cubic = attributes.get_string("mode", "nearest") == "cubic";
  const double a = attributes.get_float("cubic_coeff_a", -0.75);
  const bool smooth = attributes.get_int("antialias") != 0 && axis.scale > 0;
  // Smoothing widens the filter, at most to the whole input and back.
  const double scale = smooth ? std::clamp(axis.scale, 1.0 / (limit + 1), 1.0) : 1.0;
  const double radius = cubic ? 2.0 : 1.0;
  const double base = std::ceil(x) - 1, ratio = x - base;
  const int64_t first = static_cast<int64_t>(std::floor(-radius / scale)) + 1, end = 2 - first;
  const bool exclude = attributes.get_int("exclude_outside") != 0;
  double sum = 0;
  for (int64_t i = first; i < end; ++i) {
    const double distance = scale * (static_cast<double>(i) - ratio);
    double weight = cubic ? cubic_weight(distance, a) : std::max(1.0 - std::fabs(distance), 0.0);
    const int64_t index = static_cast<int64_t>(base) + i;
    if (exclude && (index < 0 || index >= axis.in)) weight = 0;
    taps.indices.push_back(std::clamp<int64_t>(index, 0, std::max<int64_t>(axis.in - 1, 0)));
    taps.weights.push_back(weight);
    sum += weight;
  }
  if (smooth || exclude) {
    for (double& weight : taps.weights) weight /= sum;
  }
  return taps;
}

}  // namespace stoker
