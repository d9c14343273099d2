// Cosine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_cos;
const Op op_cos = {
    .name = "cos",
    .infer = [](InferContext& c) { return infer_unary(c, "cos", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::cos(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
