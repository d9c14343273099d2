// Sum of squares over axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_sum_square;
const Op op_reduce_sum_square = {
    .name = "reduce_sum_square",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) { return infer_reduce(c, "reduce_sum_square", kReducible); },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, 0.0, 0, 0, [](auto sum, auto x) { return wrapping_add(sum, wrapping_mul(x, x)); },
              [](auto sum, int64_t) { return sum; });
        },
};

}  // namespace stoker
