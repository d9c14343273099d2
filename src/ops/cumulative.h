// Running sums and products along the axis that input 1 names; exclusive and reverse forms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

Status infer_cumulative(InferContext& c, const char* op);

// Starts at `identity` and goes on by `combine`, on doubles or on wrapping 64-bit integers.
template <class Combine>
Status evaluate_cumulative(const EvalContext& c, const char* op, int identity, Combine combine) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(c.inputs[1], 1, op, "the axis"));
  STOKER_TRY(check_count(y, x.count(), op, "the output"));
  const int64_t axis = wrap_axis(Reader(c.inputs[1]).integer(0), x.rank());
  if (axis < 0 || axis >= x.rank()) return invalid_argument("{}: axis {} does not exist", op, axis);
  const bool exclusive = c.attributes.get_int("exclusive") != 0,
             reverse = c.attributes.get_int("reverse") != 0;
  const SplitWalk walk = split_walk(Walk{x.shape, {x.strides, y.strides}}, {axis});
  const int64_t n = x.shape[axis];
  const auto run = [&](auto total_of_none, auto load, auto store) {
    for_each_wanted(walk.kept, {}, [&](const int64_t* k) {
      auto total = total_of_none;
      for (int64_t j = 0; j < n; ++j) {
        const int64_t i = reverse ? n - 1 - j : j;
        const auto before = total;
        total =
            combine(total, static_cast<decltype(total)>(load(x.data, k[0] + i * x.strides[axis])));
        store(k[1] + i * y.strides[axis], exclusive ? before : total);
      }
    });
  };
  if (is_integer(x.dtype)) {
    const StoreInt store = store_int(y.dtype);
    run(static_cast<uint64_t>(identity), load_int(x.dtype), [&](int64_t at, uint64_t v) {
      store(y.data, at, wrap_int(y.dtype, static_cast<int64_t>(v)));
    });
  } else {
    const StoreDouble store = store_double(y.dtype);
    run(static_cast<double>(identity), load_double(x.dtype),
        [&](int64_t at, double v) { store(y.data, at, v); });
  }
  return Status::ok();
}

}  // namespace stoker
