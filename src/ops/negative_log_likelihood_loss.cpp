// The negative logarithm of the probability that the input gives to each sample's label.
// SPDX-License-Identifier: Apache-2.0
#include "ops/loss.h"

namespace stoker {

namespace {

constexpr const char* kName = "negative_log_likelihood_loss";

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const LossShape shape, loss_shape(c, kName));
  const Reader x(c.inputs[0]);
  return write_loss(
      c, kName, shape,
      [](const void* reader, int64_t position) {
        return static_cast<const Reader*>(reader)->number(position);
      },
      &x);
}

}  // namespace

extern const Op op_negative_log_likelihood_loss;
const Op op_negative_log_likelihood_loss = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"ignore_index", AttributeKind::kInt}, {"reduction", AttributeKind::kString}},
    .infer = [](InferContext& c) { return infer_loss(c, kName); },
    .evaluate = evaluate,
};

}  // namespace stoker
