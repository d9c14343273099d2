// Convolution of any number of spatial axes, with groups, dilations and an optional bias.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"
#include "ops/window.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "conv", 0, "input", kFloats));
  STOKER_TRY(check_input(c, "conv", 1, "weight", kFloats));
  STOKER_TRY(check_same_dtype(c, "conv", 0, 1));
  STOKER_TRY(infer_conv(c, "conv", 0, 1, c.type(0).dtype));
  if (!c.has(2)) return Status::ok();
  STOKER_TRY(check_same_dtype(c, "conv", 0, 2));
  if (!c.type(2).ranked || !c.type(1).ranked) return Status::ok();
  if (c.type(2).rank() != 1)
    return invalid_model("conv: bias is {}, expected rank 1", type_text(c.type(2)));
  return same_dim("conv", "the bias' length and the output channels", c.type(2).dims[0],
                  c.type(1).dims[0])
      .status();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &w = c.inputs[1], &y = c.outputs[0];
  STOKER_ASSIGN(const Window window, conv_window(c.attributes, x, w, y));
  const Shape in(x.shape.begin() + 2, x.shape.end());
  const Taps taps(window, in, dense_strides(in), Shape(y.shape.begin() + 2, y.shape.end()));
  if (c.has(2)) STOKER_TRY(check_count(c.inputs[2], y.shape[1], "conv", "the bias"));
  const std::vector<double> bias =
      c.has(2) ? to_doubles(c.inputs[2]) : std::vector<double>(y.shape[1], 0.0);
  const Writer write(y);
  convolve(
      conv_shape(x, w, y, c.attributes.get_int("group", 1)), to_doubles(x).data(),
      to_doubles(w).data(), [&](int64_t position, int64_t* offsets) { taps.at(position, offsets); },
      c.wanted,
      [&](int64_t position, int64_t channel, double sum) {
        write.number(position, sum + bias[channel]);
      });
  return Status::ok();
}

}  // namespace

extern const Op op_conv;
const Op op_conv = {
    .name = "conv",
    .min_inputs = 2,
    .max_inputs = 3,
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
