// Hyperbolic cosine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_cosh;
const Op op_cosh = {
    .name = "cosh",
    .infer = [](InferContext& c) { return infer_unary(c, "cosh", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::cosh(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
