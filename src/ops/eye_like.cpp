// Ones on the k-th diagonal of a matrix shaped like the input.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "eye_like", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (x.ranked && x.rank() != 2)
    return invalid_model("eye_like: input is {}, expected rank 2", type_text(x));
  c.outputs[0] = x;
  c.outputs[0].dtype = c.attributes.get_dtype("dtype", x.dtype);
  if (contains(kNumbers | kBools, c.outputs[0].dtype)) return Status::ok();
  return invalid_model("eye_like: dtype {} is no number", dtype_name(c.outputs[0].dtype));
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  const int64_t k = c.attributes.get_int("k"), columns = y.shape[1];
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t i) {
    write.number(i, i % columns - i / columns == k ? 1.0 : 0.0);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_eye_like;
const Op op_eye_like = {
    .name = "eye_like",
    .attributes = {{"dtype", AttributeKind::kDType}, {"k", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
