// Position of the largest element along `axis`, the first one unless select_last_index.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "arg_max", 0, "input", kNumbers));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, DType::kI64);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("arg_max", c.attributes.get_int("axis"), x.rank()));
  if (x.dims[axis] == Dim(0))
    return invalid_model("arg_max: axis {} of {} is empty", axis, type_text(x));
  Dims dims = x.dims;
  if (c.attributes.get_int("keepdims", 1)) {
    dims[axis] = Dim(1);
  } else {
    dims.erase(dims.begin() + axis);
  }
  set_output(c, 0, DType::kI64, std::move(dims));
  return Status::ok();
}

template <class T, class Load>
Status search(const EvalContext& c, Load load) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const bool last = c.attributes.get_int("select_last_index") != 0;
  STOKER_ASSIGN(const Reduction r,
                reduction_of(x, y, {wrap_axis(c.attributes.get_int("axis"), x.rank())},
                             c.attributes.get_int("keepdims", 1) != 0, c.wanted));
  const int64_t n = r.walk.inner.shape[0], step = r.walk.inner.strides[0][0];
  const StoreInt store = store_int(y.dtype);
  for_each_wanted(r.walk.kept, r.kept_wanted, [&](const int64_t* kept) {
    int64_t best = 0;
    T value = static_cast<T>(load(x.data, kept[0]));
    for (int64_t i = 1; i < n; ++i) {
      const T next = static_cast<T>(load(x.data, kept[0] + i * step));
      if (next > value || (last && next == value)) {
        value = next;
        best = i;
      }
    }
    store(y.data, kept[1], best);
  });
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const DType dtype = c.inputs[0].dtype;
  if (dtype == DType::kU64) return search<uint64_t>(c, load_int(dtype));
  return is_integer(dtype) ? search<int64_t>(c, load_int(dtype))
                           : search<double>(c, load_double(dtype));
}

}  // namespace

extern const Op op_arg_max;
const Op op_arg_max = {
    .name = "arg_max",
    .attributes = {{"axis", AttributeKind::kInt},
                   {"keepdims", AttributeKind::kInt},
                   {"select_last_index", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
