// (x - mean) / sqrt(var + epsilon) over groups of channels, then scale and bias for every channel.
// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  for (size_t i = 1; i < 3; ++i)
    STOKER_TRY(check_input(c, "group_normalization", i, "parameter", kFloats));
  STOKER_TRY(infer_unary(c, "group_normalization", kFloats));
  const ValueType& x = c.type(0);
  const int64_t groups = c.attributes.get_int("num_groups");
  if (!all_ranked(c)) return Status::ok();
  if (x.rank() < 2 || groups < 1) {
    return invalid_model(
        "group_normalization: input {} with {} groups, expected rank 2 or more and 1 group or more",
        type_text(x), groups);
  }
  if (x.dims[1].is_const() && x.dims[1].value() % groups != 0) {
    return invalid_model("group_normalization: {} channels do not divide into {} groups",
                         x.dims[1].text(), groups);
  }
  for (size_t i = 1; i < 3; ++i) {
    if (c.type(i).rank() != 1) {
      return invalid_model("group_normalization: input {} is {}, expected rank 1", i,
                           type_text(c.type(i)));
    }
    STOKER_TRY(
        same_dim("group_normalization", "parameters and channels", c.type(i).dims[0], x.dims[1])
            .status());
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  const int64_t expected = x.rank() > 1 ? x.shape[1] : 1;
  for (size_t i = 1; i < 3; ++i) {
    STOKER_TRY(check_count(c.inputs[i], expected, "group_normalization", "a parameter"));
  }
  const std::vector<double> values = to_doubles(x), scale = to_doubles(c.inputs[1]),
                            bias = to_doubles(c.inputs[2]);
  const double epsilon = c.attributes.get_float("epsilon", 1e-5f);
  const int64_t groups = x.shape[0] * c.attributes.get_int("num_groups"), channels = x.shape[1];
  const int64_t size = groups == 0 ? 0 : x.count() / groups;
  const int64_t inner = x.shape[0] * channels == 0 ? 1 : x.count() / (x.shape[0] * channels);
  const Writer write(c.outputs[0]);
  for (int64_t g = 0; g < groups; ++g) {
    const TensorView group{
        DType::kF64, {size}, {1}, const_cast<double*>(values.data()) + g * size, nullptr};
    const MeanVariance m = mean_variance(group, 0, broadcast_walk(group.shape, {&group}));
    for (int64_t i = g * size; i < (g + 1) * size; ++i) {
      const int64_t channel = i / inner % channels;
      write.number(i, (values[i] - m.mean) / std::sqrt(m.variance + epsilon) * scale[channel] +
                          bias[channel]);
    }
  }
  return Status::ok();
}

}  // namespace

extern const Op op_group_normalization;
const Op op_group_normalization = {
    .name = "group_normalization",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"epsilon", AttributeKind::kFloat},
                   {"num_groups", AttributeKind::kInt},
                   {"stash_type", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
