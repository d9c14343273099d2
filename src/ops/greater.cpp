// a > b.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_greater;
const Op op_greater = {
    .name = "greater",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "greater", kNumbers, DType::kBool));
      infer_elements(c, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
        return short_enough(is_greater(a, b));
      });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) { return map_number2(c, [](auto a, auto b) { return a > b; }); },
    .pointwise = true,
};

}  // namespace stoker
