// u8 values with a scale and zero point from the range of x, widened to hold 0; in f32 as ONNX
// Runtime.
// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "dynamic_quantize_linear", 0, "input", kFloats));
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = DType::kU8;
  set_output(c, 1, DType::kF32, {});
  set_output(c, 2, DType::kU8, {});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  const std::vector<double> values = to_doubles(x);
  float low = 0, high = 0;
  for (const double v : values) {
    low = std::min(low, static_cast<float>(v));
    high = std::max(high, static_cast<float>(v));
  }
  const float scale = low == high ? 1.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(std::min(std::max(0.0f - low / scale, 0.0f), 255.0f));
  const Writer write(c.outputs[0]);
  for_each_position(x.count(), c.wanted, [&](int64_t i) {
    const float quotient = std::nearbyint(static_cast<float>(values[i]) / scale);
    write.integer(i, quantize_to_integer(quotient, static_cast<int64_t>(zero), DType::kU8));
  });
  Writer(c.outputs[1]).number(0, scale);
  Writer(c.outputs[2]).integer(0, static_cast<int64_t>(zero));
  return Status::ok();
}

}  // namespace

extern const Op op_dynamic_quantize_linear;
const Op op_dynamic_quantize_linear = {
    .name = "dynamic_quantize_linear",
    .output_count = 3,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
