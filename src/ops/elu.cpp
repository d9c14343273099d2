// x, or alpha * (e^x - 1) below 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_elu;
const Op op_elu = {
    .name = "elu",
    .attributes = {{"alpha", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "elu", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 1.0);
          return map_float(c, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
