// Hyperbolic sine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_sinh;
const Op op_sinh = {
    .name = "sinh",
    .infer = [](InferContext& c) { return infer_unary(c, "sinh", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::sinh(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
