// The k largest (or smallest) elements along an axis in order, and their positions; ties by
// position.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "top_k", 0, "input", kNumbers));
  STOKER_TRY(check_input(c, "top_k", 1, "k", kIndices));
  const ValueType& x = c.type(0);
  c.outputs[0] = ValueType::unranked(x.dtype);
  c.outputs[1] = ValueType::unranked(DType::kI64);
  if (!x.ranked) return Status::ok();
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("top_k", c.attributes.get_int("axis", -1), x.rank()));
  const auto k = c.elements(1);
  if (k && k->size() != 1) return invalid_model("top_k: k has {} elements, expected 1", k->size());
  if (k && (*k)[0].is_const()) {
    const int64_t n = (*k)[0].value();
    if (n < 0 || (x.dims[axis].is_const() && n > x.dims[axis].value())) {
      return invalid_model("top_k: k is {}, axis {} of {} holds fewer", n, axis, type_text(x));
    }
  }
  Dims dims = x.dims;
  dims[axis] = k ? (*k)[0] : c.fresh();
  set_output(c, 0, x.dtype, dims);
  set_output(c, 1, DType::kI64, std::move(dims));
  return Status::ok();
}

template <class T, class Load>
void select(const EvalContext& c, int64_t axis, Load load) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0], &index = c.outputs[1];
  const bool largest = c.attributes.get_int("largest", 1) != 0;
  const int64_t n = x.shape[axis], k = y.shape[axis];
  Walk all{x.shape, {x.strides, y.strides, index.strides}};
  const SplitWalk walk = split_walk(all, {axis});
  const Mover move(y, x);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::vector<T> values(static_cast<size_t>(n));
  for_each_wanted(walk.kept, {}, [&](const int64_t* o) {
    for (int64_t i = 0; i < n; ++i) {
      order[i] = i;
      values[i] = static_cast<T>(load(x.data, o[0] + i * x.strides[axis]));
    }
    // NaN stands above every number; that keeps the order strict and weak.
    const auto above = [&](T a, T b) { return a > b || (a != a && b == b); };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t i, int64_t j) {
      const T a = values[i], b = values[j];
      if (largest ? above(a, b) : above(b, a)) return true;
      if (largest ? above(b, a) : above(a, b)) return false;
      return i < j;
    });
    for (int64_t i = 0; i < k; ++i) {
      move(o[1] + i * y.strides[axis], o[0] + order[i] * x.strides[axis]);
      store_int(index.dtype)(index.data, o[2] + i * index.strides[axis], order[i]);
    }
  });
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  const int64_t axis = wrap_axis(c.attributes.get_int("axis", -1), x.rank());
  if (c.outputs[0].shape[axis] > x.shape[axis]) {
    return invalid_argument("top_k: k is {}, the axis holds {}", c.outputs[0].shape[axis],
                            x.shape[axis]);
  }
  if (x.dtype == DType::kU64)
    select<uint64_t>(c, axis, load_int(x.dtype));
  else if (is_integer(x.dtype))
    select<int64_t>(c, axis, load_int(x.dtype));
  else
    select<double>(c, axis, load_double(x.dtype));
  return Status::ok();
}

}  // namespace

extern const Op op_top_k;
const Op op_top_k = {
    .name = "top_k",
    .min_inputs = 2,
    .max_inputs = 2,
    .output_count = 2,
    .attributes = {{"axis", AttributeKind::kInt},
                   {"largest", AttributeKind::kInt},
                   {"sorted", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
