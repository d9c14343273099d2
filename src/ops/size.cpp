// The number of elements of the input.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "size", 0, "input", kAny));
  set_output(c, 0, DType::kI64, {});
  if (c.type(0).ranked) c.shape_values[0] = Dims{product(c.type(0).dims)};
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  Writer(c.outputs[0]).integer(0, c.inputs[0].count());
  return Status::ok();
}

}  // namespace

extern const Op op_size;
const Op op_size = {
    .name = "size",
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
