// x * sigmoid(alpha * x).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_swish;
const Op op_swish = {
    .name = "swish",
    .attributes = {{"alpha", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "swish", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 1.0);
          return map_float(c, [=](double x) { return x / (1.0 + std::exp(-alpha * x)); });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
