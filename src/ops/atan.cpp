// Arc tangent.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_atan;
const Op op_atan = {
    .name = "atan",
    .infer = [](InferContext& c) { return infer_unary(c, "atan", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::atan(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
