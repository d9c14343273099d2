// 1 / (1 + e^-x).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_sigmoid;
const Op op_sigmoid = {
    .name = "sigmoid",
    .infer = [](InferContext& c) { return infer_unary(c, "sigmoid", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(c, [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
