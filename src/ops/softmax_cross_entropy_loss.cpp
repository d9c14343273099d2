// Softmax over the classes (axis 1), then the negative log likelihood of the labels. Output 1 holds
// the logarithms of the softmax.
// SPDX-License-Identifier: Apache-2.0
#include "ops/loss.h"

namespace stoker {

namespace {

constexpr const char* kName = "softmax_cross_entropy_loss";

Status infer(InferContext& c) {
  STOKER_TRY(infer_loss(c, kName));
  c.outputs[1] = c.type(0);
  return Status::ok();
}

// The logarithms of the sums of the exponentials: x minus that of its sample is the log softmax.
std::vector<double> log_sums(const std::vector<double>& x, const LossShape& shape) {
  std::vector<double> sums(static_cast<size_t>(shape.samples()));
  for (int64_t sample = 0; sample < shape.samples(); ++sample) {
    double largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < shape.classes; ++k)
      largest = std::max(largest, x[shape.position(sample, k)]);
    for (int64_t k = 0; k < shape.classes; ++k)
      sum += std::exp(x[shape.position(sample, k)] - largest);
    sums[sample] = largest + std::log(sum);
  }
  return sums;
}

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const LossShape shape, loss_shape(c, kName));
  std::vector<double> logs = to_doubles(c.inputs[0]);
  const std::vector<double> sums = log_sums(logs, shape);
  for (int64_t sample = 0; sample < shape.samples(); ++sample) {
    for (int64_t k = 0; k < shape.classes; ++k) logs[shape.position(sample, k)] -= sums[sample];
  }
  STOKER_TRY(check_count(c.outputs[1], static_cast<int64_t>(logs.size()), kName, "log_prob"));
  from_doubles(logs, c.outputs[1]);
  return write_loss(
      c, kName, shape,
      [](const void* values, int64_t position) {
        return (*static_cast<const std::vector<double>*>(values))[static_cast<size_t>(position)];
      },
      &logs);
}

}  // namespace

extern const Op op_softmax_cross_entropy_loss;
const Op op_softmax_cross_entropy_loss = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 3,
    .output_count = 2,
    .attributes = {{"ignore_index", AttributeKind::kInt}, {"reduction", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
