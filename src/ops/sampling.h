// Multilinear and cubic sampling of a plane at fractional positions: what grid_sample and
// deform_conv share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// The elements of one axis that a position mixes. Positions of equal index are joined and those
// outside of the axis are dropped, so their number never exceeds the axis' extent.
struct SampleTaps {
  std::array<int64_t, 4> index = {};
  std::array<double, 4> weight = {};
  int count = 0;

  void add(int64_t at, double w) {
    for (int i = 0; i < count; ++i) {
      if (index[static_cast<size_t>(i)] != at) continue;
      weight[static_cast<size_t>(i)] += w;
      return;
    }
    index[static_cast<size_t>(count)] = at;
    weight[static_cast<size_t>(count++)] = w;
  }
};

// Linear interpolation with zeros outside of [0, extent).
SampleTaps linear_taps(double position, int64_t extent);

// The weighted sum over all combinations of the axes' taps.
double sample(const double* plane, const Shape& strides, std::span<const SampleTaps> taps,
              size_t axis = 0);

}  // namespace stoker
