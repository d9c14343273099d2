// Smallest of the inputs, broadcast; NaN wins.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_min;
const Op op_min = {
    .name = "min",
    .max_inputs = -1,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "min", kNumbers));
      if (c.inputs.size() == 2) {
        infer_elements(c, [](const Dim& a, const Dim& b) { return std::optional(Dim::min(a, b)); });
      }
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_variadic(c, [](auto a, auto b) {
            if constexpr (std::is_floating_point_v<decltype(a)>) {
              if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
            }
            return b < a ? b : a;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
