// Random numbers of a normal distribution with `mean` and standard deviation `scale`, in the shape
// that an attribute gives.
// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  const DType dtype = c.attributes.get_dtype("dtype", DType::kF32);
  if (!contains(kFloats, dtype)) {
    return invalid_model("random_normal: dtype is {}, expected f64, f32, f16 or bf16",
                         dtype_name(dtype));
  }
  Dims dims;
  for (const int64_t extent : c.attributes.get_ints("shape")) {
    if (extent < 0) return invalid_model("random_normal: shape has the extent {}", extent);
    dims.emplace_back(extent);
  }
  set_output(c, 0, dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  const double mean = c.attributes.get_float("mean", 0), scale = c.attributes.get_float("scale", 1);
  STOKER_ASSIGN(
      c.outputs[0],
      draw_tensor(c, c.attributes.get_dtype("dtype", DType::kF32), c.attributes.get_ints("shape"),
                  [&](RandomStream& stream) { return mean + scale * stream.normal(); }));
  return Status::ok();
}

}  // namespace

extern const Op op_random_normal;
const Op op_random_normal = {
    .name = "random_normal",
    .min_inputs = 0,
    .max_inputs = 0,
    .attributes = {{"mean", AttributeKind::kFloat},
                   {"scale", AttributeKind::kFloat},
                   {"shape", AttributeKind::kInts, true},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate_values = evaluate,
    .deterministic = false,
};

}  // namespace stoker
