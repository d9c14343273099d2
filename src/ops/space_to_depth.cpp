// Blocks of pixels become channels.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "space_to_depth", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  const int64_t block = c.attributes.get_int("blocksize");
  if (x.rank() != 4)
    return invalid_model("space_to_depth: input is {}, expected rank 4", type_text(x));
  if (block < 1 || block > 32768)
    return invalid_model("space_to_depth: blocksize is {}, expected at least 1", block);
  for (int d = 2; d < 4; ++d) {
    if (x.dims[d].is_const() && x.dims[d].value() % block != 0) {
      return invalid_model("space_to_depth: axis {} of {} does not divide by {}", d, type_text(x),
                           block);
    }
  }
  const Dim b(block);
  set_output(
      c, 0, x.dtype,
      {x.dims[0], x.dims[1] * b * b, Dim::floor_div(x.dims[2], b), Dim::floor_div(x.dims[3], b)});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t b = c.attributes.get_int("blocksize"), channels = x.shape[1];
  // Axes: image, channel, row, row in block, column, column in block; block positions are outermost
  // in the channel order.
  const Shape shape = {x.shape[0], channels, y.shape[2], b, y.shape[3], b};
  const Shape from = {x.strides[0], x.strides[1],     x.strides[2] * b,
                      x.strides[2], x.strides[3] * b, x.strides[3]};
  const int64_t channel = y.strides[1] * channels;
  const Shape to = {y.strides[0], y.strides[1], y.strides[2], channel * b, y.strides[3], channel};
  return copy_block(shape, y, {0, to}, x, {0, from});
}

}  // namespace

extern const Op op_space_to_depth;
const Op op_space_to_depth = {
    .name = "space_to_depth",
    .attributes = {{"blocksize", AttributeKind::kInt, true}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
