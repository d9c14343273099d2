// max(0, x) + min(0, alpha * (e^(x/alpha) - 1)).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_celu;
const Op op_celu = {
    .name = "celu",
    .attributes = {{"alpha", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "celu", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 1.0);
          return map_float(c, [=](double x) {
            return x <= 0 ? alpha * std::expm1(x / alpha) : x;  // NaN stays
          });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
