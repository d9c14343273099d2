// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling.h"

namespace stoker {

SampleTaps linear_taps(double position, int64_t extent) {
  SampleTaps taps;
  // Also refuses NaN.
  if (!(position > -1 && position < static_cast<double>(extent))) return taps;
  const double low = std::floor(position), part = position - low;
  const int64_t at = static_cast<int64_t>(low);
  if (at >= 0) taps.add(at, 1 - part);
  if (at + 1 < extent) taps.add(at + 1, part);
  return taps;
}

double sample(const double* plane, const Shape& strides, std::span<const SampleTaps> taps,
              size_t axis) {
  if (axis == taps.size()) return *plane;
  double sum = 0;
  for (int t = 0; t < taps[axis].count; ++t) {
    const size_t i = static_cast<size_t>(t);
    sum += taps[axis].weight[i] *
           sample(plane + taps[axis].index[i] * strides[axis], strides, taps, axis + 1);
  }
  return sum;
}

}  // namespace stoker
