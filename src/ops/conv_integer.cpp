// Convolution of 8-bit integers less their zero points, summed exactly into i32.
// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "conv_integer", 0, "input", kBytes));
  STOKER_TRY(check_input(c, "conv_integer", 1, "weight", kBytes));
  STOKER_TRY(check_same_dtype(c, "conv_integer", 0, 2));
  STOKER_TRY(check_same_dtype(c, "conv_integer", 1, 3));
  if (c.has(3) && c.type(3).ranked && c.type(3).rank() > 1) {
    return invalid_model("conv_integer: weight zero point is {}, expected a scalar or rank 1",
                         type_text(c.type(3)));
  }
  return infer_conv(c, "conv_integer", 0, 1, DType::kI32);
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &w = c.inputs[1], &y = c.outputs[0];
  const Writer write(y);
  return convolve_integers(
      c.attributes, {x, w, y, c.has(2) ? &c.inputs[2] : nullptr, c.has(3) ? &c.inputs[3] : nullptr},
      c.wanted, [&](int64_t position, int64_t, double sum) {
        write.integer(position, static_cast<int64_t>(sum));
      });
}

}  // namespace

extern const Op op_conv_integer;
const Op op_conv_integer = {
    .name = "conv_integer",
    .min_inputs = 2,
    .max_inputs = 4,
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
