// Arc cosine.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_acos;
const Op op_acos = {
    .name = "acos",
    .infer = [](InferContext& c) { return infer_unary(c, "acos", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::acos(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
