// Random numbers of the uniform distribution on [low, high), in the shape of the input.
// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "random_uniform_like", 0, "input", kAny));
  const DType dtype = c.attributes.get_dtype("dtype", c.type(0).dtype);
  if (!contains(kFloats, dtype)) {
    return invalid_model(
        "random_uniform_like: the output would be {}, expected f64, f32, f16 or bf16; set the "
        "attribute dtype",
        dtype_name(dtype));
  }
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = dtype;
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "random_uniform_like", 0, kAny));
  const Tensor& like = c.tensor(0);
  const double low = c.attributes.get_float("low", 0), high = c.attributes.get_float("high", 1);
  STOKER_ASSIGN(c.outputs[0], draw_tensor(c, c.attributes.get_dtype("dtype", like.dtype()),
                                          like.shape(), [&](RandomStream& stream) {
                                            return low + (high - low) * stream.uniform();
                                          }));
  return Status::ok();
}

}  // namespace

extern const Op op_random_uniform_like;
const Op op_random_uniform_like = {
    .name = "random_uniform_like",
    .attributes = {{"low", AttributeKind::kFloat},
                   {"high", AttributeKind::kFloat},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate_values = evaluate,
    .deterministic = false,
};

}  // namespace stoker
