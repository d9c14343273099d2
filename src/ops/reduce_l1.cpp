// Sum of absolute values over axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_l1;
const Op op_reduce_l1 = {
    .name = "reduce_l1",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) { return infer_reduce(c, "reduce_l1", kReducible); },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, 0.0, 0, 0,
              [](auto sum, auto x) { return x < 0 ? wrapping_sub(sum, x) : wrapping_add(sum, x); },
              [](auto sum, int64_t) { return sum; });
        },
};

}  // namespace stoker
