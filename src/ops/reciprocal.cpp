// 1 / x.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_reciprocal;
const Op op_reciprocal = {
    .name = "reciprocal",
    .infer = [](InferContext& c) { return infer_unary(c, "reciprocal", kFloats); },
    .evaluate = [](const EvalContext& c) { return map_float(c, [](double x) { return 1.0 / x; }); },
    .pointwise = true,
};

}  // namespace stoker
