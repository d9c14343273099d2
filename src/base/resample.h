// How an axis is resampled: the coordinates, nearest indices and weighted taps of ONNX Resize.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

struct ResampleRule {
  enum class Mode : uint8_t { kNearest, kLinear, kCubic };
  enum class Coordinates : uint8_t {
    kHalfPixel,
    kHalfPixelSymmetric,
    kPytorchHalfPixel,
    kAlignCorners,
    kAsymmetric,
    kTfHalfPixelForNn,
    kTfCropAndResize
  };
  enum class Nearest : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kSimple };

  Mode mode = Mode::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75;
};

// The names that ONNX gives to the values, by position.
inline constexpr const char* kResampleModes[] = {"nearest", "linear", "cubic"};
inline constexpr const char* kResampleCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
inline constexpr const char* kResampleNearest[] = {"round_prefer_floor", "round_prefer_ceil",
                                                   "floor", "ceil", "simple"};

// One axis of a resize.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double length = 1;  // in * scale, of which `out` is the integer part
  double roi_start = 0, roi_end = 1;

  bool kept() const { return scale == 1 && in == out; }
};

// Whether the coordinate lies outside the input and takes the extrapolation value.
bool extrapolates(const ResampleRule& rule, const ResizeAxis& axis, int64_t at);
int64_t nearest_index(const ResampleRule& rule, const ResizeAxis& axis, int64_t at);

// For the modes linear and cubic. All outputs of an axis have equally many taps; most of them may
// be 0.
struct AxisTaps {
  std::vector<int64_t> indices;  // clamped into the input
  std::vector<double> weights;
};
int64_t tap_count(const ResampleRule& rule, const ResizeAxis& axis);
AxisTaps axis_taps(const ResampleRule& rule, const ResizeAxis& axis, int64_t at);

}  // namespace stoker
