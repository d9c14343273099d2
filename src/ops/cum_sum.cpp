// Running sums along the axis that input 1 names; exclusive and reverse forms.
// SPDX-License-Identifier: Apache-2.0
#include "ops/cumulative.h"

namespace stoker {

extern const Op op_cum_sum;
const Op op_cum_sum = {
    .name = "cum_sum",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"exclusive", AttributeKind::kInt}, {"reverse", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_cumulative(c, "cum_sum"); },
    .evaluate =
        [](const EvalContext& c) {
          return evaluate_cumulative(c, "cum_sum", 0, [](auto a, auto b) { return a + b; });
        },
};

}  // namespace stoker
