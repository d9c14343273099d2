// Smallest element over axes; NaN wins, +infinity when there are none.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_min;
const Op op_reduce_min = {
    .name = "reduce_min",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_reduce(c, "reduce_min", kReducible | kBytes | kBools));
      reduce_elements(c, Dim::min);
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, HUGE_VAL, integer_max(c.inputs[0].dtype), UINT64_MAX,
              [](auto a, auto b) { return b < a || b != b ? b : a; },
              [](auto value, int64_t) { return value; });
        },
};

}  // namespace stoker
