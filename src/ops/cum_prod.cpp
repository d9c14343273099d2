// Running products along the axis that input 1 names; exclusive and reverse forms.
// SPDX-License-Identifier: Apache-2.0
#include "ops/cumulative.h"

namespace stoker {

extern const Op op_cum_prod;
const Op op_cum_prod = {
    .name = "cum_prod",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"exclusive", AttributeKind::kInt}, {"reverse", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_cumulative(c, "cum_prod"); },
    .evaluate =
        [](const EvalContext& c) {
          return evaluate_cumulative(c, "cum_prod", 1, [](auto a, auto b) { return a * b; });
        },
};

}  // namespace stoker
