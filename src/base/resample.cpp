// SPDX-License-Identifier: Apache-2.0
#include "base/resample.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace stoker {
namespace {

// The formulas of ONNX in the precision T.
template <class T>
T source_coordinate(ResampleRule::Coordinates mode, const ResizeAxis& a, int64_t at) {
  using Mode = ResampleRule::Coordinates;
  const T x = static_cast<T>(at), scale = static_cast<T>(a.scale), in = static_cast<T>(a.in),
          out = static_cast<T>(a.out);
  const T half = static_cast<T>(0.5), start = static_cast<T>(a.roi_start),
          end = static_cast<T>(a.roi_end);
  switch (mode) {
    case Mode::kAsymmetric: return x / scale;
    case Mode::kAlignCorners: {
      // ONNX takes the fractional length; for nearest ONNX Runtime's integer one keeps the last
      // index.
      const T length = std::is_same_v<T, float> ? out : static_cast<T>(a.length);
      return a.out == 1 ? T(0) : x * (in - 1) / (length - 1);
    }
    case Mode::kPytorchHalfPixel: return a.out > 1 ? (x + half) / scale - half : T(0);
    case Mode::kTfHalfPixelForNn: return (x + half) / scale;
    case Mode::kTfCropAndResize:
      return a.out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)
                       : half * (start + end) * (in - 1);
    case Mode::kHalfPixelSymmetric: {
      const T adjustment = out / (scale * in);
      return in / 2 * (1 - adjustment) + (x + half) / scale - half;
    }
    case Mode::kHalfPixel: break;
  }
  return (x + half) / scale - half;
}

double cubic_weight(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

bool smooths(const ResampleRule& rule, const ResizeAxis& axis) {
  return rule.antialias && axis.scale > 0;
}

// Smoothing widens the filter, at most to the whole input and back.
double filter_scale(const ResampleRule& rule, const ResizeAxis& axis) {
  if (!smooths(rule, axis)) return 1.0;
  return std::clamp(axis.scale, 1.0 / (static_cast<double>(axis.in) + 1), 1.0);
}

int64_t first_tap(const ResampleRule& rule, const ResizeAxis& axis) {
  const double radius = rule.mode == ResampleRule::Mode::kCubic ? 2.0 : 1.0;
  return static_cast<int64_t>(std::floor(-radius / filter_scale(rule, axis))) + 1;
}

}  // namespace

bool extrapolates(const ResampleRule& rule, const ResizeAxis& axis, int64_t at) {
  if (rule.coordinates != ResampleRule::Coordinates::kTfCropAndResize) return false;
  const double x = source_coordinate<double>(rule.coordinates, axis, at);
  return x < 0 || x > static_cast<double>(axis.in - 1);
}

int64_t nearest_index(const ResampleRule& rule, const ResizeAxis& axis, int64_t at) {
  using Nearest = ResampleRule::Nearest;
  if (axis.kept() && rule.coordinates != ResampleRule::Coordinates::kTfCropAndResize) return at;
  // In f32, as ONNX Runtime: which neighbour wins a near tie depends on it.
  const float x = source_coordinate<float>(rule.coordinates, axis, at);
  float index = 0;
  switch (rule.nearest) {
    case Nearest::kFloor: index = std::floor(x); break;
    case Nearest::kCeil: index = std::ceil(x); break;
    case Nearest::kRoundPreferCeil: index = std::round(x); break;
    case Nearest::kSimple: index = axis.scale < 1 ? std::ceil(x) : std::trunc(x); break;
    case Nearest::kRoundPreferFloor:
      index = x == std::floor(x) + 0.5f ? std::floor(x) : std::round(x);
  }
  // Compared as floats, since a hostile scale may give anything, NaN too.
  if (!(index > 0)) return 0;
  return index < static_cast<float>(axis.in) ? std::min(static_cast<int64_t>(index), axis.in - 1)
                                             : axis.in - 1;
}

int64_t tap_count(const ResampleRule& rule, const ResizeAxis& axis) {
  return 2 - 2 * first_tap(rule, axis);
}

AxisTaps axis_taps(const ResampleRule& rule, const ResizeAxis& axis, int64_t at) {
  AxisTaps taps;
  double x = source_coordinate<double>(rule.coordinates, axis, at);
  const double limit = static_cast<double>(axis.in);
  x = std::isnan(x) ? 0.0 : std::clamp(x, -2 * limit - 4, 2 * limit + 4);
  const double base = std::ceil(x) - 1, ratio = x - base, scale = filter_scale(rule, axis);
  const int64_t first = first_tap(rule, axis), end = 2 - first;
  double sum = 0;
  for (int64_t i = first; i < end; ++i) {
    const double distance = scale * (static_cast<double>(i) - ratio);
    double weight = rule.mode == ResampleRule::Mode::kCubic
                        ? cubic_weight(distance, rule.cubic_a)
                        : std::max(1.0 - std::fabs(distance), 0.0);
    const int64_t index = static_cast<int64_t>(base) + i;
    if (rule.exclude_outside && (index < 0 || index >= axis.in)) weight = 0;
    taps.indices.push_back(std::clamp<int64_t>(index, 0, std::max<int64_t>(axis.in - 1, 0)));
    taps.weights.push_back(weight);
    sum += weight;
  }
  if (smooths(rule, axis) || rule.exclude_outside) {
    for (double& weight : taps.weights) weight /= sum;
  }
  return taps;
}

}  // namespace stoker
