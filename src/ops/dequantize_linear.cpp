// (x - zero_point) * scale, in the dtype of the scale.
// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr DTypeSet kSources =
    dtypes({DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32}) | kPackedInts |
    kSmallFloats;

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "dequantize_linear", 0, "input", kSources));
  STOKER_TRY(check_input(c, "dequantize_linear", 1, "scale", kFloats | dtypes({DType::kF8E8M0})));
  STOKER_TRY(check_same_dtype(c, "dequantize_linear", 0, 2));
  STOKER_TRY(check_scale(c, "dequantize_linear"));
  const DType fallback = c.type(1).dtype == DType::kF8E8M0 ? DType::kF32 : c.type(1).dtype;
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = c.attributes.get_dtype("output_dtype", fallback);
  if (!contains(kFloats, c.outputs[0].dtype)) {
    return invalid_model("dequantize_linear: output dtype {} is no float dtype",
                         dtype_name(c.outputs[0].dtype));
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &scale = c.inputs[1], &y = c.outputs[0];
  STOKER_TRY(check_scale_shapes(c, "dequantize_linear"));
  const LoadDouble load = load_double(x.dtype), load_scale = load_double(scale.dtype);
  const LoadDouble load_zero = c.has(2) ? load_double(c.inputs[2].dtype) : nullptr;
  const StoreDouble store = store_double(y.dtype);
  const ScaleIndex index(c.attributes, x.shape, scale);
  const ScaleIndex zero_index(c.attributes, x.shape, c.has(2) ? c.inputs[2] : scale);
  const Reader read(x);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const double zero = load_zero ? load_zero(c.inputs[2].data, zero_index.at(position)) : 0.0;
    const double value = load(x.data, read.offset(position)) - zero;
    store(y.data, write.offset(position), value * load_scale(scale.data, index.at(position)));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_dequantize_linear;
const Op op_dequantize_linear = {
    .name = "dequantize_linear",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"axis", AttributeKind::kInt},
                   {"block_size", AttributeKind::kInt},
                   {"output_dtype", AttributeKind::kDType}},
    .infer = infer,
    .evaluate = evaluate,
    .pointwise = true,
};

}  // namespace stoker
