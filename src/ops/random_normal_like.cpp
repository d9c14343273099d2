// Random numbers of a normal distribution with `mean` and standard deviation `scale`, in the shape
// of the input.
// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "random_normal_like", 0, "input", kAny));
  const DType dtype = c.attributes.get_dtype("dtype", c.type(0).dtype);
  if (!contains(kFloats, dtype)) {
    return invalid_model(
        "random_normal_like: the output would be {}, expected f64, f32, f16 or bf16; set the "
        "attribute dtype",
        dtype_name(dtype));
  }
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = dtype;
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "random_normal_like", 0, kAny));
  const Tensor& like = c.tensor(0);
  const double mean = c.attributes.get_float("mean", 0), scale = c.attributes.get_float("scale", 1);
  STOKER_ASSIGN(c.outputs[0],
                draw_tensor(c, c.attributes.get_dtype("dtype", like.dtype()), like.shape(),
                            [&](RandomStream& stream) { return mean + scale * stream.normal(); }));
  return Status::ok();
}

}  // namespace

extern const Op op_random_normal_like;
const Op op_random_normal_like = {
    .name = "random_normal_like",
    .attributes = {{"mean", AttributeKind::kFloat},
                   {"scale", AttributeKind::kFloat},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate_values = evaluate,
    .deterministic = false,
};

}  // namespace stoker
