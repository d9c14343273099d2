// Running products along the axis that input 1 names; exclusive and reverse forms.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "cum_prod", 1, "axis", kIndices));
  STOKER_TRY(infer_unary(c, "cum_prod", kNumbers));
  const auto axis = c.constant_ints(1);
  if (!axis || !c.type(0).ranked) return Status::ok();
  if (axis->size() != 1)
    return invalid_model("cum_prod: axis has {} elements, expected 1", axis->size());
  return normalize_axis("cum_prod", (*axis)[0], c.type(0).rank()).status();
}

template <class T, class Load, class Store>
void run(const EvalContext& c, int64_t axis, Load load, Store store) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const bool exclusive = c.attributes.get_int("exclusive") != 0,
             reverse = c.attributes.get_int("reverse") != 0;
  const SplitWalk walk = split_walk(Walk{x.shape, {x.strides, y.strides}}, {axis});
  const int64_t n = x.shape[axis];
  for_each_wanted(walk.kept, {}, [&](const int64_t* k) {
    T product = 1;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t i = reverse ? n - 1 - j : j;
      const T before = product;
      product *= static_cast<T>(load(x.data, k[0] + i * x.strides[axis]));
      store(k[1] + i * y.strides[axis], exclusive ? before : product);
    }
  });
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(c.inputs[1], 1, "cum_prod", "the axis"));
  const int64_t axis = wrap_axis(Reader(c.inputs[1]).integer(0), x.rank());
  if (axis < 0 || axis >= x.rank())
    return invalid_argument("cum_prod: axis {} does not exist", axis);
  STOKER_TRY(check_count(y, x.count(), "cum_prod", "the output"));
  if (is_integer(x.dtype)) {
    const StoreInt store = store_int(y.dtype);
    run<uint64_t>(c, axis, load_int(x.dtype), [&](int64_t at, uint64_t v) {
      store(y.data, at, wrap_int(y.dtype, static_cast<int64_t>(v)));
    });
  } else {
    const StoreDouble store = store_double(y.dtype);
    run<double>(c, axis, load_double(x.dtype), [&](int64_t at, double v) { store(y.data, at, v); });
  }
  return Status::ok();
}

}  // namespace

extern const Op op_cum_prod;
const Op op_cum_prod = {
    .name = "cum_prod",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"exclusive", AttributeKind::kInt}, {"reverse", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
