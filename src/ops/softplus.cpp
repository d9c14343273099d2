// log(1 + e^x), in a form that does not overflow.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_softplus;
const Op op_softplus = {
    .name = "softplus",
    .infer = [](InferContext& c) { return infer_unary(c, "softplus", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(
              c, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
