// a * b, broadcast; integers wrap.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_mul;
const Op op_mul = {
    .name = "mul",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "mul", kNumbers));
      infer_elements(c, [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a * b; });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number2(c, [](auto a, auto b) { return wrapping_mul(a, b); });
        },
    .pointwise = true,
};

}  // namespace stoker
