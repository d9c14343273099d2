// Tangent.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_tan;
const Op op_tan = {
    .name = "tan",
    .infer = [](InferContext& c) { return infer_unary(c, "tan", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::tan(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
