// How resize finds its samples: the geometry of the resized axes and the weighted taps of a
// coordinate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// One axis of a resize.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double length = 1;  // in * scale, of which `out` is the integer part
  double roi_start = 0, roi_end = 1;
};

// All axes of x, from the attributes and the inputs roi (1), scales (2), sizes (3).
std::vector<ResizeAxis> resize_axes(const EvalContext& c);
// The axes that scales and sizes are for.
std::vector<int64_t> resized_axes(const Attributes& attributes, int64_t rank);

struct AxisTaps {
  std::vector<int64_t> indices;  // clamped into the input
  std::vector<double> weights;
};
// Whether the coordinate lies outside the input and takes the extrapolation value.
bool extrapolates(const Attributes& attributes, const ResizeAxis& axis, int64_t x);
int64_t nearest_index(const Attributes& attributes, const ResizeAxis& axis, int64_t x);
// For the modes linear and cubic.
AxisTaps axis_taps(const Attributes& attributes, const ResizeAxis& axis, int64_t x);

}  // namespace stoker
