// Smallest of the inputs, broadcast; NaN wins.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_min;
const Op op_min = {
    .name = "min",
    .max_inputs = -1,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "min", kNumbers));
      infer_variadic_elements(c, Dim::min);
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
