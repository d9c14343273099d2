// round_half_even(x / scale) + zero_point, saturated. The division is done in f32 unless x is f64,
// as ONNX Runtime does it, so that ties fall the same way.
// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr DTypeSet kTargets =
    dtypes({DType::kI8, DType::kU8, DType::kI16, DType::kU16}) | kPackedInts | kSmallFloats;

DType target(const InferContext& c) {
  if (c.has(2)) return c.type(2).dtype;
  return c.attributes.get_dtype("output_dtype", DType::kU8);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "quantize_linear", 0, "input", kFloats | dtypes({DType::kI32})));
  STOKER_TRY(check_input(c, "quantize_linear", 1, "scale",
                         kFloats | dtypes({DType::kI32, DType::kF8E8M0})));
  const DType to = target(c);
  if (!contains(kTargets, to)) {
    return invalid_model("quantize_linear: output dtype {} is no quantized dtype", dtype_name(to));
  }
  STOKER_TRY(check_scale(c, "quantize_linear"));
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = to;
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &scale = c.inputs[1], &y = c.outputs[0];
  STOKER_TRY(check_scale_shapes(c, "quantize_linear"));
  const bool in_double = x.dtype == DType::kF64;
  const bool saturate = c.attributes.get_int("saturate", 1) != 0;
  const LoadDouble load = load_double(x.dtype), load_scale = load_double(scale.dtype);
  const LoadInt load_zero = c.has(2) ? load_int(c.inputs[2].dtype) : nullptr;
  const StoreInt store = store_int(y.dtype);
  const StoreDouble store_float =
      saturate ? store_double(y.dtype) : store_double_unsaturated(y.dtype);
  const ScaleIndex index(c.attributes, x.shape, scale);
  const ScaleIndex zero_index(c.attributes, x.shape, c.has(2) ? c.inputs[2] : scale);
  const Reader read(x);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const double value = load(x.data, read.offset(position));
    const double s = load_scale(scale.data, index.at(position));
    const double quotient =
        in_double ? value / s
                  : static_cast<double>(static_cast<float>(value) / static_cast<float>(s));
    const int64_t out = write.offset(position);
    if (is_integer(y.dtype)) {
      const int64_t zero = load_zero ? load_zero(c.inputs[2].data, zero_index.at(position)) : 0;
      store(y.data, out, quantize_to_integer(std::nearbyint(quotient), zero, y.dtype));
    } else {
      store_float(y.data, out, quotient);
    }
  });
  return Status::ok();
}

}  // namespace

extern const Op op_quantize_linear;
const Op op_quantize_linear = {
    .name = "quantize_linear",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"axis", AttributeKind::kInt},
                   {"block_size", AttributeKind::kInt},
                   {"output_dtype", AttributeKind::kDType},
                   {"precision", AttributeKind::kDType},
                   {"saturate", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
    .pointwise = true,
};

}  // namespace stoker
