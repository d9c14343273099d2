// x, or alpha * x below 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_leaky_relu;
const Op op_leaky_relu = {
    .name = "leaky_relu",
    .attributes = {{"alpha", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "leaky_relu", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 0.01f);
          return map_float(c, [=](double x) { return x < 0 ? alpha * x : x; });
        },
    .pointwise = true,
};

}  // namespace stoker
