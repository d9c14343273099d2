// Nearest integer, halves to even.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_round;
const Op op_round = {
    .name = "round",
    .infer = [](InferContext& c) { return infer_unary(c, "round", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(c, [](double x) { return std::nearbyint(x); });
        },
    .pointwise = true,
};

}  // namespace stoker
