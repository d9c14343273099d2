// Natural logarithm.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_log;
const Op op_log = {
    .name = "log",
    .infer = [](InferContext& c) { return infer_unary(c, "log", kFloats); },
    .evaluate =
        [](const EvalContext& c) { return map_float(c, [](double x) { return std::log(x); }); },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
