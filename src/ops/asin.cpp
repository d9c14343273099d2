// Arc sine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_asin;
const Op op_asin = {
    .name = "asin",
    .infer = [](InferContext& c) { return infer_unary(c, "asin", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::asin(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
