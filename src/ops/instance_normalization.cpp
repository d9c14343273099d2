// (x - mean) / sqrt(var + epsilon) * scale + bias over the spatial axes of every image and channel.
// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  for (size_t i = 1; i < 3; ++i)
    STOKER_TRY(check_input(c, "instance_normalization", i, "parameter", kFloats));
  STOKER_TRY(infer_unary(c, "instance_normalization", kFloats));
  const ValueType& x = c.type(0);
  if (!all_ranked(c)) return Status::ok();
  if (x.rank() < 3)
    return invalid_model("instance_normalization: input is {}, expected rank 3 or more",
                         type_text(x));
  for (size_t i = 1; i < 3; ++i) {
    if (c.type(i).rank() != 1) {
      return invalid_model("instance_normalization: input {} is {}, expected rank 1", i,
                           type_text(c.type(i)));
    }
    STOKER_TRY(
        same_dim("instance_normalization", "parameters and channels", c.type(i).dims[0], x.dims[1])
            .status());
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t expected = x.rank() > 1 ? x.shape[1] : 1;
  for (size_t i = 1; i < 3; ++i) {
    STOKER_TRY(check_count(c.inputs[i], expected, "instance_normalization", "a parameter"));
  }
  const std::vector<double> scale = to_doubles(c.inputs[1]), bias = to_doubles(c.inputs[2]);
  const double epsilon = c.attributes.get_float("epsilon", 1e-5f);
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_group(x, y, axes_from(2, x.rank()), c.wanted,
                 [&](int64_t position, const int64_t* k, const Walk& inner) {
                   const MeanVariance m = mean_variance(x, k[0], inner);
                   const int64_t channel = position % x.shape[1];
                   const double factor = scale[channel] / std::sqrt(m.variance + epsilon);
                   for_each_wanted(inner, {}, [&](const int64_t* o) {
                     store(y.data, k[1] + o[1],
                           (load(x.data, k[0] + o[0]) - m.mean) * factor + bias[channel]);
                   });
                 });
  return Status::ok();
}

}  // namespace

extern const Op op_instance_normalization;
const Op op_instance_normalization = {
    .name = "instance_normalization",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"epsilon", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
