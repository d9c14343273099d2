// a / b, broadcast. Integers truncate; dividing them by zero gives 0 rather than a trap.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_div;
const Op op_div = {
    .name = "div",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "div", kNumbers));
      infer_elements(c, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
        if (b == Dim(0)) return std::nullopt;
        if (a.is_const() && b.is_const()) {
          return b.value() == -1 ? Dim(0) - a : Dim(a.value() / b.value());
        }
        // Sizes are not negative, so truncation is floor.
        return Dim::floor_div(a, b);
      });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number2(c, [](auto a, auto b) {
            using T = decltype(a);
            if constexpr (std::is_integral_v<T>) {
              if (b == 0) return T(0);
              return b == T(-1) ? wrapping_sub(T(0), a) : static_cast<T>(a / b);
            } else {
              return a / b;
            }
          });
        },
    .pointwise = true,
};

}  // namespace stoker
