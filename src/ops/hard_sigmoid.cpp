// max(0, min(1, alpha * x + beta)).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_hard_sigmoid;
const Op op_hard_sigmoid = {
    .name = "hard_sigmoid",
    .attributes = {{"alpha", AttributeKind::kFloat}, {"beta", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "hard_sigmoid", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 0.2f);
          const double beta = c.attributes.get_float("beta", 0.5);
          return map_float(
              c, [=](double x) { return std::max(std::min(alpha * x + beta, 1.0), 0.0); });
        },
    .pointwise = true,
};

}  // namespace stoker
