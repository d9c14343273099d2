// a > b.
// SPDX-License-Identifier: Apache-2.0
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
        const Dim d = a - b;
        return d.is_const() ? std::optional(Dim(d.value() > 0)) : std::nullopt;
      });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) { return map_number2(c, [](auto a, auto b) { return a > b; }); },
    .pointwise = true,
};

}  // namespace stoker
