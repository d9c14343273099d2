// Inverse hyperbolic tangent.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_atanh;
const Op op_atanh = {
    .name = "atanh",
    .infer = [](InferContext& c) { return infer_unary(c, "atanh", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::atanh(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
