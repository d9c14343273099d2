// Blocks of channels become blocks of pixels; DCR or CRD order of the channel axis.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "depth_to_space", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  const int64_t block = c.attributes.get_int("blocksize");
  const std::string mode = c.attributes.get_string("mode", "DCR");
  if (x.rank() != 4)
    return invalid_model("depth_to_space: input is {}, expected rank 4", type_text(x));
  if (block < 1 || block > 32768)
    return invalid_model("depth_to_space: blocksize is {}, expected at least 1", block);
  if (mode != "DCR" && mode != "CRD")
    return invalid_model("depth_to_space: mode is \"{}\", expected DCR or CRD", mode);
  const Dim area(block * block);
  if (x.dims[1].is_const() && x.dims[1].value() % area.value() != 0) {
    return invalid_model("depth_to_space: {} channels do not divide by {}", x.dims[1].text(),
                         area.text());
  }
  set_output(
      c, 0, x.dtype,
      {x.dims[0], Dim::floor_div(x.dims[1], area), x.dims[2] * Dim(block), x.dims[3] * Dim(block)});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t b = c.attributes.get_int("blocksize"), channels = y.shape[1];
  const bool dcr = c.attributes.get_string("mode", "DCR") == "DCR";
  const int64_t channel = x.strides[1];
  // Axes: image, channel, row, row in block, column, column in block.
  const Shape shape = {x.shape[0], channels, x.shape[2], b, x.shape[3], b};
  const Shape from = {x.strides[0], dcr ? channel : channel * b * b,
                      x.strides[2], dcr ? channel * b * channels : channel * b,
                      x.strides[3], dcr ? channel * channels : channel};
  const Shape to = {y.strides[0], y.strides[1],     y.strides[2] * b,
                    y.strides[2], y.strides[3] * b, y.strides[3]};
  return copy_block(shape, y, {0, to}, x, {0, from});
}

}  // namespace

extern const Op op_depth_to_space;
const Op op_depth_to_space = {
    .name = "depth_to_space",
    .attributes = {{"blocksize", AttributeKind::kInt, true}, {"mode", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
