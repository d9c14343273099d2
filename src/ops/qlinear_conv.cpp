// Quantized convolution: exact sums plus an i32 bias, rescaled, rounded half to even and saturated.
// Inputs: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias.
// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "qlinear_conv", 0, "input", kBytes));
  STOKER_TRY(check_input(c, "qlinear_conv", 3, "weight", kBytes));
  for (const size_t i : {1, 4, 6}) STOKER_TRY(check_input(c, "qlinear_conv", i, "scale", kFloats));
  STOKER_TRY(check_same_dtype(c, "qlinear_conv", 0, 2));
  STOKER_TRY(check_same_dtype(c, "qlinear_conv", 3, 5));
  STOKER_TRY(check_input(c, "qlinear_conv", 7, "output zero point", kBytes));
  if (c.has(8)) STOKER_TRY(check_input(c, "qlinear_conv", 8, "bias", dtypes({DType::kI32})));
  STOKER_TRY(infer_conv(c, "qlinear_conv", 0, 3, c.type(7).dtype));
  for (const size_t i : {4, 8}) {
    if (!c.has(i) || !c.type(i).ranked || !c.outputs[0].ranked) continue;
    const Dim count = product(c.type(i).dims);
    if (i == 4 && count == Dim(1)) continue;
    STOKER_TRY(same_dim("qlinear_conv", "channels", count, c.outputs[0].dims[1]).status());
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  const Writer write(y);
  if (c.has(8)) STOKER_TRY(check_count(c.inputs[8], y.shape[1], "qlinear_conv", "the bias"));
  const std::vector<double> bias =
      c.has(8) ? to_doubles(c.inputs[8]) : std::vector<double>(y.shape[1], 0.0);
  STOKER_ASSIGN(const Requantize requantize, Requantize::of(c, -1, 1));
  const IntegerProduct p{c.inputs[0], c.inputs[3], y, &c.inputs[2], &c.inputs[5]};
  return convolve_integers(c.attributes, p, c.wanted,
                           [&](int64_t position, int64_t channel, double sum) {
                             write.number(position, requantize(position, sum + bias[channel]));
                           });
}

}  // namespace

extern const Op op_qlinear_conv;
const Op op_qlinear_conv = {
    .name = "qlinear_conv",
    .min_inputs = 8,
    .max_inputs = 9,
    .attributes = {{"auto_pad", AttributeKind::kString},
                   {"dilations", AttributeKind::kInts},
                   {"group", AttributeKind::kInt},
                   {"kernel_shape", AttributeKind::kInts},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
