// One with the probability that the input gives, otherwise zero.
// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "bernoulli", 0, "probabilities", kFloats));
  const DType dtype = c.attributes.get_dtype("dtype", c.type(0).dtype);
  if (!contains(kNumbers | kBools, dtype)) {
    return invalid_model("bernoulli: dtype is {}, expected a number or bool", dtype_name(dtype));
  }
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = dtype;
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "bernoulli", 0, kFloats));
  const Tensor& p = c.tensor(0);
  const LoadDouble load = load_double(p.dtype());
  int64_t next = 0;
  STOKER_ASSIGN(c.outputs[0], draw_tensor(c, c.attributes.get_dtype("dtype", p.dtype()), p.shape(),
                                          [&](RandomStream& stream) {
                                            return stream.uniform() < load(p.data(), next++) ? 1.0
                                                                                             : 0.0;
                                          }));
  return Status::ok();
}

}  // namespace

extern const Op op_bernoulli;
const Op op_bernoulli = {
    .name = "bernoulli",
    .attributes = {{"dtype", AttributeKind::kDType}, {"seed", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate_values = evaluate,
    .deterministic = false,
};

}  // namespace stoker
