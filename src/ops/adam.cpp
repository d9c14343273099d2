// One step of Adam: running means of the gradients and of their squares, corrected for their start
// at 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer.h"

namespace stoker {

namespace {

// Tensors, gradients, mean gradients, mean squared gradients.
constexpr size_t kGroups = 4;

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const Step step, optimizer_step(c, "adam", kGroups));
  const double alpha = c.attributes.get_float("alpha", 0.9f),
               beta = c.attributes.get_float("beta", 0.999f),
               epsilon = c.attributes.get_float("epsilon", 1e-6f),
               norm = c.attributes.get_float("norm_coefficient"),
               post = c.attributes.get_float("norm_coefficient_post");
  double rate = step.rate;
  if (step.count > 0)
    rate *= std::sqrt(1 - std::pow(beta, step.count)) / (1 - std::pow(alpha, step.count));
  update_all(c, step, kGroups, [&](double* v) {
    const double gradient = norm * v[0] + v[1];
    v[2] = alpha * v[2] + (1 - alpha) * gradient;
    v[3] = beta * v[3] + (1 - beta) * gradient * gradient;
    v[0] = (1 - post) * (v[0] - rate * v[2] / (std::sqrt(v[3]) + epsilon));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_adam;
const Op op_adam = {
    .name = "adam",
    .min_inputs = 6,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{"alpha", AttributeKind::kFloat},
                   {"beta", AttributeKind::kFloat},
                   {"epsilon", AttributeKind::kFloat},
                   {"norm_coefficient", AttributeKind::kFloat},
                   {"norm_coefficient_post", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_optimizer(c, "adam", kGroups); },
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
