// Gauss error function.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_erf;
const Op op_erf = {
    .name = "erf",
    .infer = [](InferContext& c) { return infer_unary(c, "erf", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::erf(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
