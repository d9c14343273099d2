// A tensor of the shape given by the input, filled with `value` (default f32 zero).
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "constant_of_shape", 0, "shape", kIndices));
  const Tensor* value = c.attributes.get_tensor("value");
  if (value && (value->count() != 1 || value->dtype() == DType::kString)) {
    return invalid_model("constant_of_shape: value has {} elements of {}, expected one number",
                         value->count(), dtype_name(value->dtype()));
  }
  const DType dtype = value ? value->dtype() : DType::kF32;
  const auto target = c.elements(0);
  if (!target) return set_open(c, dtype, vector_length(c, 0));
  for (const Dim& d : *target) {
    if (d.is_const() && d.value() < 0) {
      return invalid_model("constant_of_shape: shape {} has a negative extent", dims_text(*target));
    }
  }
  set_output(c, 0, dtype, *target);
  const Dim count = product(*target);
  if (value && is_exact_integer(dtype) && target->size() <= 1 && count.is_const() &&
      count.value() <= 4096) {
    c.shape_values[0] =
        Dims(static_cast<size_t>(count.value()), Dim(load_int(dtype)(value->data(), 0)));
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  const Tensor* value = c.attributes.get_tensor("value");
  const Tensor filler = value ? *value : Tensor::scalar_f32(0);
  const TensorView from = view_of(filler);
  const Walk walk = broadcast_walk(y.shape, {&y});
  if (from.dtype == y.dtype) {
    const Mover move(y, from);
    for_each_wanted(walk, c.wanted, [&](const int64_t* o) { move(o[0], 0); });
  } else {
    const double number = load_double(from.dtype)(from.data, 0);
    for_each_wanted(walk, c.wanted,
                    [&](const int64_t* o) { store_double(y.dtype)(y.data, o[0], number); });
  }
  return Status::ok();
}

}  // namespace

extern const Op op_constant_of_shape;
const Op op_constant_of_shape = {
    .name = "constant_of_shape",
    .attributes = {{"value", AttributeKind::kTensor}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
