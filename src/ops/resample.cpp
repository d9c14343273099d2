// SPDX-License-Identifier: Apache-2.0
#include "ops/resample.h"

#include <algorithm>
#include <numeric>

namespace stoker {

// The value of that name; ops check their names when they infer.
template <class T, size_t N>
static T named(const char* const (&names)[N], const std::string& name) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  return static_cast<T>(found == std::end(names) ? 0 : found - std::begin(names));
}

ResampleRule resample_rule(const Attributes& attributes) {
  ResampleRule rule;
  const auto text = [&](const char* name) { return attributes.get_string(name, ""); };
  rule.mode = named<ResampleRule::Mode>(kResampleModes, text("mode"));
  rule.coordinates = named<ResampleRule::Coordinates>(kResampleCoordinates,
                                                      text("coordinate_transformation_mode"));
  rule.nearest = named<ResampleRule::Nearest>(kResampleNearest, text("nearest_mode"));
  rule.antialias = attributes.get_int("antialias") != 0;
  rule.exclude_outside = attributes.get_int("exclude_outside") != 0;
  rule.cubic_a = attributes.get_float("cubic_coeff_a", -0.75);
  return rule;
}

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

}  // namespace stoker
