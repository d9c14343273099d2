// Rank 2: the product of the axes before `axis` by the product of the others.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "flatten", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) {
    set_output(c, 0, x.dtype, {c.fresh(), c.fresh()});
    return Status::ok();
  }
  const int64_t rank = x.rank();
  int64_t axis = c.attributes.get_int("axis", 1);
  if (axis < -rank || axis > rank) {
    return invalid_model("flatten: axis {} is outside [{}, {}] for rank {}", axis, -rank, rank,
                         rank);
  }
  if (axis < 0) axis += rank;
  const auto middle = x.dims.begin() + axis;
  set_output(c, 0, x.dtype,
             {product(Dims(x.dims.begin(), middle)), product(Dims(middle, x.dims.end()))});
  return Status::ok();
}

}  // namespace

extern const Op op_flatten;
const Op op_flatten = {
    .name = "flatten",
    .attributes = {{"axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = [](const EvalContext& c) { return copy_reshaped(c.outputs[0], c.inputs[0]); },
};

}  // namespace stoker
