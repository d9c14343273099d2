// Sum over axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_sum;
const Op op_reduce_sum = {
    .name = "reduce_sum",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_reduce(c, "reduce_sum", kReducible));
      reduce_elements(c, [](const Dim& a, const Dim& b) { return a + b; });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, 0.0, 0, 0, [](auto sum, auto x) { return wrapping_add(sum, x); },
              [](auto sum, int64_t) { return sum; });
        },
};

}  // namespace stoker
