// Inverse hyperbolic sine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_asinh;
const Op op_asinh = {
    .name = "asinh",
    .infer = [](InferContext& c) { return infer_unary(c, "asinh", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::asinh(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
