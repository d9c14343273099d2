// Smallest integer not below x.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_ceil;
const Op op_ceil = {
    .name = "ceil",
    .infer = [](InferContext& c) { return infer_unary(c, "ceil", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::ceil(x); }); },
    .pointwise = true,
};

}  // namespace stoker
