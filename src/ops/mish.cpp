// x * tanh(softplus(x)).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_mish;
const Op op_mish = {
    .name = "mish",
    .infer = [](InferContext& c) { return infer_unary(c, "mish", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(c, [](double x) {
            return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
          });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
