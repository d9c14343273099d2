// One step of gradient descent with momentum, plain or Nesterov's.
// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer.h"

namespace stoker {

namespace {

// Tensors, gradients, momenta.
constexpr size_t kGroups = 3;

Status infer(InferContext& c) {
  const std::string mode = c.attributes.get_string("mode");
  if (mode != "standard" && mode != "nesterov")
    return invalid_model("momentum: mode is '{}', expected standard or nesterov", mode);
  return infer_optimizer(c, "momentum", kGroups);
}

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const Step step, optimizer_step(c, "momentum", kGroups));
  const double alpha = c.attributes.get_float("alpha"),
               norm = c.attributes.get_float("norm_coefficient"),
               // The first step takes the whole gradient.
      beta = step.count > 0 ? c.attributes.get_float("beta") : 1;
  const bool nesterov = c.attributes.get_string("mode") == "nesterov";
  update_all(c, step, kGroups, [&](double* v) {
    const double gradient = norm * v[0] + v[1];
    v[2] = alpha * v[2] + beta * gradient;
    v[0] -= step.rate * (nesterov ? gradient + alpha * v[2] : v[2]);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_momentum;
const Op op_momentum = {
    .name = "momentum",
    .min_inputs = 5,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{"alpha", AttributeKind::kFloat, true},
                   {"beta", AttributeKind::kFloat, true},
                   {"mode", AttributeKind::kString, true},
                   {"norm_coefficient", AttributeKind::kFloat, true}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
