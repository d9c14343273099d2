// What softmax and log_softmax share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

Status infer_softmax(InferContext& c, const char* op);

// y = f(x - max, sum of exp(x - max)) along the axis. legacy_flatten (opset < 13): over all axes
// from `axis` on, which is 1 unless given.
template <class F>
Status softmax(const EvalContext& c, F f) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const bool flatten = c.attributes.get_int("legacy_flatten") != 0;
  const int64_t first = wrap_axis(c.attributes.get_int("axis", flatten ? 1 : -1), x.rank());
  std::vector<int64_t> axes;
  for (int64_t d = first; d < (flatten ? x.rank() : std::min<int64_t>(first + 1, x.rank())); ++d)
    axes.push_back(d);
  const SplitWalk walk = split_walk(Walk{x.shape, {x.strides, y.strides}}, axes);
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_wanted(walk.kept, wanted_kept(x.shape, axes, c.wanted), [&](const int64_t* kept) {
    double top = -HUGE_VAL, sum = 0;
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      const double v = load(x.data, kept[0] + o[0]);
      top = v > top || std::isnan(v) ? v : top;
    });
    for_each_wanted(walk.inner, {},
                    [&](const int64_t* o) { sum += std::exp(load(x.data, kept[0] + o[0]) - top); });
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      store(y.data, kept[1] + o[1], f(load(x.data, kept[0] + o[0]) - top, sum));
    });
  });
  return Status::ok();
}

}  // namespace stoker
