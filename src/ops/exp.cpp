// e^x.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_exp;
const Op op_exp = {
    .name = "exp",
    .infer = [](InferContext& c) { return infer_unary(c, "exp", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::exp(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
