// Square root.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_sqrt;
const Op op_sqrt = {
    .name = "sqrt",
    .infer = [](InferContext& c) { return infer_unary(c, "sqrt", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::sqrt(x); }); },
    .pointwise = true,
};

}  // namespace stoker
