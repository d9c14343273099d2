// 1 at the first largest element along an axis, 0 elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const bool flatten = c.attributes.get_int("legacy_flatten") != 0;
  const int64_t first = wrap_axis(c.attributes.get_int("axis", flatten ? 1 : -1), x.rank());
  std::vector<int64_t> axes;
  for (int64_t d = first; d < (flatten ? x.rank() : std::min<int64_t>(first + 1, x.rank())); ++d)
    axes.push_back(d);
  const SplitWalk walk = split_walk(Walk{x.shape, {x.strides, y.strides}}, axes);
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_wanted(walk.kept, {}, [&](const int64_t* kept) {
    double top = -HUGE_VAL;
    int64_t best = 0, index = 0;
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      const double v = load(x.data, kept[0] + o[0]);
      if (v > top) {
        top = v;
        best = index;
      }
      ++index;
    });
    index = 0;
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      store(y.data, kept[1] + o[1], index++ == best ? 1.0 : 0.0);
    });
  });
  return Status::ok();
}

}  // namespace

extern const Op op_hardmax;
const Op op_hardmax = {
    .name = "hardmax",
    .attributes = {{"axis", AttributeKind::kInt}, {"legacy_flatten", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_softmax(c, "hardmax"); },
    .evaluate = evaluate,
};

}  // namespace stoker
