// Logical or.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_or;
const Op op_or = {
    .name = "or",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "or", kBools, DType::kBool));
      infer_elements(c, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
        return short_enough(a + b - a * b);
      });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number2(c, [](auto a, auto b) { return (a != 0) || (b != 0); });
        },
    .pointwise = true,
};

}  // namespace stoker
