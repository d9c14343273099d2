// SPDX-License-Identifier: Apache-2.0
#include "ops/drawn.h"

namespace stoker {

Status infer_drawn(InferContext& c, const char* op) {
  const DType dtype = c.attributes.get_dtype("dtype", DType::kF32);
  if (!contains(kFloats, dtype)) {
    return invalid_model("{}: dtype is {}, expected f64, f32, f16 or bf16", op, dtype_name(dtype));
  }
  Dims dims;
  for (const int64_t extent : c.attributes.get_ints("shape")) {
    if (extent < 0) return invalid_model("{}: shape has the extent {}", op, extent);
    dims.emplace_back(extent);
  }
  set_output(c, 0, dtype, std::move(dims));
  return Status::ok();
}

Status infer_drawn_like(InferContext& c, const char* op) {
  STOKER_TRY(check_input(c, op, 0, "input", kAny));
  const DType dtype = c.attributes.get_dtype("dtype", c.type(0).dtype);
  if (!contains(kFloats, dtype)) {
    return invalid_model(
        "{}: the output would be {}, expected f64, f32, f16 or bf16; set the attribute dtype", op,
        dtype_name(dtype));
  }
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = dtype;
  return Status::ok();
}

}  // namespace stoker
