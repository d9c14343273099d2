// Logarithm of the sum over axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_log_sum;
const Op op_reduce_log_sum = {
    .name = "reduce_log_sum",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) { return infer_reduce(c, "reduce_log_sum", kReducible); },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_float(
              c, 0.0, [](double sum, double x) { return sum + x; },
              [](double sum, int64_t) { return std::log(sum); });
        },
    .transcendental = true,
};

}  // namespace stoker
