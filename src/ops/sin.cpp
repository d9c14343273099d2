// Sine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_sin;
const Op op_sin = {
    .name = "sin",
    .infer = [](InferContext& c) { return infer_unary(c, "sin", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::sin(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
