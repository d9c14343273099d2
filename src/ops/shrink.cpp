// x + bias below -lambd, x - bias above lambd, otherwise 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_shrink;
const Op op_shrink = {
    .name = "shrink",
    .attributes = {{"bias", AttributeKind::kFloat}, {"lambd", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "shrink", kNumbers); },
    .evaluate =
        [](const EvalContext& c) {
          const double bias = c.attributes.get_float("bias", 0.0);
          const double lambd = c.attributes.get_float("lambd", 0.5);
          return map_float(c, [=](double x) {
            return x < -lambd ? x + bias : x > lambd ? x - bias : 0.0;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
