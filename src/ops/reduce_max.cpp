// Largest element over axes; NaN wins, -infinity when there are none.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_max;
const Op op_reduce_max = {
    .name = "reduce_max",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_reduce(c, "reduce_max", kReducible | kBytes | kBools));
      reduce_elements(c, Dim::max);
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, -HUGE_VAL, integer_min(c.inputs[0].dtype), 0,
              [](auto a, auto b) { return b > a || b != b ? b : a; },
              [](auto value, int64_t) { return value; });
        },
};

}  // namespace stoker
