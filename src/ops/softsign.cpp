// x / (1 + |x|).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_softsign;
const Op op_softsign = {
    .name = "softsign",
    .infer = [](InferContext& c) { return infer_unary(c, "softsign", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(c, [](double x) { return x / (1.0 + std::fabs(x)); });
        },
    .pointwise = true,
};

}  // namespace stoker
