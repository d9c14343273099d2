// Hyperbolic tangent.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_tanh;
const Op op_tanh = {
    .name = "tanh",
    .infer = [](InferContext& c) { return infer_unary(c, "tanh", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::tanh(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
