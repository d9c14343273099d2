// Square root of the sum of squares over axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_l2;
const Op op_reduce_l2 = {
    .name = "reduce_l2",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) { return infer_reduce(c, "reduce_l2", kReducible); },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_float(
              c, 0.0, [](double sum, double x) { return sum + x * x; },
              [](double sum, int64_t) { return std::sqrt(sum); });
        },
};

}  // namespace stoker
