// One step of Adagrad: the rate of every element falls with the sum of its squared gradients.
// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer.h"

namespace stoker {

namespace {

// Tensors, gradients, sums of squared gradients.
constexpr size_t kGroups = 3;

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const Step step, optimizer_step(c, "adagrad", kGroups));
  const double norm = c.attributes.get_float("norm_coefficient"),
               epsilon = c.attributes.get_float("epsilon", 1e-6f),
               rate = step.rate / (1 + step.count * c.attributes.get_float("decay_factor"));
  update_all(c, step, kGroups, [&](double* v) {
    const double gradient = norm * v[0] + v[1];
    v[2] += gradient * gradient;
    v[0] -= rate * gradient / (std::sqrt(v[2]) + epsilon);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_adagrad;
const Op op_adagrad = {
    .name = "adagrad",
    .min_inputs = 5,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{"decay_factor", AttributeKind::kFloat},
                   {"epsilon", AttributeKind::kFloat},
                   {"norm_coefficient", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_optimizer(c, "adagrad", kGroups); },
    .evaluate = evaluate,
};

}  // namespace stoker
