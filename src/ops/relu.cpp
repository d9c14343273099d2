// max(x, 0); NaN stays NaN.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_relu;
const Op op_relu = {
    .name = "relu",
    .infer = [](InferContext& c) { return infer_unary(c, "relu", kNumbers); },
    .evaluate =
        [](const EvalContext& c) {
          return map_number(c, [](auto x) { return x < 0 ? decltype(x)(0) : x; });
        },
    .pointwise = true,
};

}  // namespace stoker
