// The slices along `axis` (of the flattened input without one) where the condition holds; a
// condition that is shorter than the axis takes nothing of the rest.
// SPDX-License-Identifier: Apache-2.0
#include "ops/value_checks.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "compress", 0, "input", kAny));
  STOKER_TRY(check_input(c, "compress", 1, "condition", kBools));
  const ValueType &x = c.type(0), &condition = c.type(1);
  if (condition.ranked && condition.rank() != 1)
    return invalid_model("compress: condition is {}, expected rank 1", type_text(condition));
  const auto taken = c.constant_ints(1);
  const Dim count = taken ? Dim(std::count(taken->begin(), taken->end(), 1)) : c.fresh();
  if (!c.attributes.has("axis")) {
    set_output(c, 0, x.dtype, {count});
    return Status::ok();
  }
  if (!x.ranked) return set_unranked(c, x.dtype);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("compress", c.attributes.get_int("axis"), x.rank()));
  Dims dims = x.dims;
  dims[static_cast<size_t>(axis)] = count;
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "compress", 0, kAny));
  STOKER_TRY(check_tensor(c, "compress", 1, kBools));
  const Tensor &x = c.tensor(0), &condition = c.tensor(1);
  const bool flat = !c.attributes.has("axis");
  const Shape shape = flat ? Shape{x.count()} : x.shape();
  STOKER_ASSIGN(const int64_t axis, normalize_axis("compress", c.attributes.get_int("axis"),
                                                   static_cast<int64_t>(shape.size())));
  const size_t d = static_cast<size_t>(axis);
  std::vector<int64_t> taken;
  for (int64_t i = 0; i < condition.count(); ++i) {
    if (!condition.values<bool>()[static_cast<size_t>(i)]) continue;
    if (i >= shape[d]) {
      return invalid_argument("compress: the condition takes slice {} of axis {} with extent {}", i,
                              axis, shape[d]);
    }
    taken.push_back(i);
  }
  Shape result = shape;
  result[d] = static_cast<int64_t>(taken.size());
  STOKER_ASSIGN(Tensor y, Tensor::allocate(x.dtype(), result));
  const TensorView to = view_of(y), from = view_of(x);
  const Shape to_strides = dense_strides(result), from_strides = dense_strides(shape);
  result[d] = 1;
  for (size_t k = 0; k < taken.size(); ++k) {
    STOKER_TRY(copy_block(result, to, {static_cast<int64_t>(k) * to_strides[d], to_strides}, from,
                          {taken[k] * from_strides[d], from_strides}));
  }
  c.outputs[0] = std::move(y);
  return Status::ok();
}

}  // namespace

extern const Op op_compress;
const Op op_compress = {
    .name = "compress",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
