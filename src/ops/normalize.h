// Normalizations over a group of axes: mean and variance of every group of elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// The axes from `first` to the last.
std::vector<int64_t> axes_from(int64_t first, int64_t rank);

// body(kept position, kept offsets of x and y, inner walk) for every group that is wanted.
template <class Body>
void for_each_group(const TensorView& x, const TensorView& y, const std::vector<int64_t>& axes,
                    std::span<const int64_t> wanted, Body body) {
  const SplitWalk walk = split_walk(Walk{x.shape, {x.strides, y.strides}}, axes);
  const std::vector<int64_t> kept = wanted_kept(x.shape, axes, wanted);
  size_t index = 0;
  for_each_wanted(walk.kept, kept, [&](const int64_t* o) {
    const int64_t position = kept.empty() ? static_cast<int64_t>(index) : kept[index];
    ++index;
    body(position, o, walk.inner);
  });
}

struct MeanVariance {
  double mean, variance;
};
// Of the elements of x that the walk visits from `base`; two passes, so that nothing cancels.
MeanVariance mean_variance(const TensorView& x, int64_t base, const Walk& inner);

}  // namespace stoker
