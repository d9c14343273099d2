// Largest integer not above x.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_floor;
const Op op_floor = {
    .name = "floor",
    .infer = [](InferContext& c) { return infer_unary(c, "floor", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::floor(x); }); },
    .pointwise = true,
};

}  // namespace stoker
