// (x - mean) / sqrt(var + epsilon) * scale + bias for every channel (axis 1). In training mode the
// mean and variance are those of the batch, the running ones are outputs 1 and 2, and the batch's
// own (old opsets ask for them) are outputs 3 and 4.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  for (size_t i = 0; i < 5; ++i)
    STOKER_TRY(check_input(c, "batch_normalization", i, "operand", kFloats));
  const bool training = c.attributes.get_int("training_mode") != 0;
  if (!training && c.outputs.size() != 1) {
    return unsupported("batch_normalization: {} outputs need training_mode=1", c.outputs.size());
  }
  if (c.outputs.size() > 5)
    return invalid_model("batch_normalization: {} outputs, expected up to 5", c.outputs.size());
  const ValueType& x = c.type(0);
  c.outputs[0] = x;
  for (size_t i = 1; i < c.outputs.size(); ++i) c.outputs[i] = c.type(3);
  if (!x.ranked) return Status::ok();
  if (x.rank() < 1)
    return invalid_model("batch_normalization: input is a scalar, expected rank 2 or more");
  const Dim channels = x.rank() > 1 ? x.dims[1] : Dim(1);
  for (size_t i = 1; i < 5; ++i) {
    if (!c.type(i).ranked) continue;
    if (c.type(i).rank() != 1) {
      return invalid_model("batch_normalization: input {} is {}, expected rank 1", i,
                           type_text(c.type(i)));
    }
    STOKER_TRY(
        same_dim("batch_normalization", "parameters and channels", c.type(i).dims[0], channels)
            .status());
  }
  return Status::ok();
}

struct Moments {
  std::vector<double> mean, variance;
};

Moments batch_moments(const std::vector<double>& x, int64_t batch, int64_t channels,
                      int64_t inner) {
  Moments m{std::vector<double>(channels, 0.0), std::vector<double>(channels, 0.0)};
  const double n = static_cast<double>(batch * inner);
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < batch * channels * inner; ++i) f(i / inner % channels, x[i]);
  };
  each([&](int64_t channel, double v) { m.mean[channel] += v; });
  for (double& v : m.mean) v /= n;
  each([&](int64_t channel, double v) {
    m.variance[channel] += (v - m.mean[channel]) * (v - m.mean[channel]);
  });
  for (double& v : m.variance) v /= n;
  return m;
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  const int64_t expected = x.rank() > 1 ? x.shape[1] : 1;
  for (size_t i = 1; i < 5; ++i) {
    STOKER_TRY(check_count(c.inputs[i], expected, "batch_normalization", "a parameter"));
  }
  const std::vector<double> scale = to_doubles(c.inputs[1]), bias = to_doubles(c.inputs[2]);
  Moments m{to_doubles(c.inputs[3]), to_doubles(c.inputs[4])};
  const int64_t channels = static_cast<int64_t>(scale.size());
  const int64_t rows = (x.rank() > 0 ? x.shape[0] : 1) * channels;
  const int64_t inner = rows == 0 ? 0 : x.count() / rows;
  const std::vector<double> values = to_doubles(x);
  if (c.attributes.get_int("training_mode")) {
    const Moments now = batch_moments(values, x.shape[0], channels, inner);
    const double momentum = c.attributes.get_float("momentum", 0.9f);
    for (size_t out = 1; out < c.outputs.size(); ++out) {
      const bool mean = out % 2 == 1;
      const std::vector<double>& past = mean ? m.mean : m.variance;
      const std::vector<double>& present = mean ? now.mean : now.variance;
      STOKER_TRY(check_count(c.outputs[out], channels, "batch_normalization", "a statistic"));
      const Writer write(c.outputs[out]);
      for (int64_t i = 0; i < channels; ++i)
        write.number(i, out > 2 ? present[i] : past[i] * momentum + present[i] * (1 - momentum));
    }
    m = now;
  }
  const double epsilon = c.attributes.get_float("epsilon", 1e-5f);
  const Writer write(c.outputs[0]);
  for_each_position(x.count(), c.wanted, [&](int64_t i) {
    const int64_t k = i / inner % channels;
    write.number(i,
                 (values[i] - m.mean[k]) / std::sqrt(m.variance[k] + epsilon) * scale[k] + bias[k]);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_batch_normalization;
const Op op_batch_normalization = {
    .name = "batch_normalization",
    .min_inputs = 5,
    .max_inputs = 5,
    .output_count = -1,
    .attributes = {{"epsilon", AttributeKind::kFloat},
                   {"momentum", AttributeKind::kFloat},
                   {"training_mode", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
