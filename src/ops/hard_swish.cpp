// x * max(0, min(1, x/6 + 1/2)).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_hard_swish;
const Op op_hard_swish = {
    .name = "hard_swish",
    .infer = [](InferContext& c) { return infer_unary(c, "hard_swish", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(
              c, [](double x) { return x * std::max(std::min(x / 6.0 + 0.5, 1.0), 0.0); });
        },
    .pointwise = true,
};

}  // namespace stoker
