// Inverse hyperbolic cosine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_acosh;
const Op op_acosh = {
    .name = "acosh",
    .infer = [](InferContext& c) { return infer_unary(c, "acosh", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::acosh(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
