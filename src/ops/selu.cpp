// gamma * x, or gamma * alpha * (e^x - 1) at or below 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_selu;
const Op op_selu = {
    .name = "selu",
    .attributes = {{"alpha", AttributeKind::kFloat}, {"gamma", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "selu", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 1.67326319217681884765625);
          const double gamma = c.attributes.get_float("gamma", 1.05070102214813232421875);
          return map_float(c,
                           [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
