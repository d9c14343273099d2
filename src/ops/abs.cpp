// |x|.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_abs;
const Op op_abs = {
    .name = "abs",
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_unary(c, "abs", kNumbers));
      infer_elements(c, [](const Dim& a, const Dim&) {
        return std::optional(surely_not_negative(a) ? a : Dim::max(a, Dim(0) - a));
      });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number(c, [](auto x) {
            using T = decltype(x);
            if constexpr (std::is_integral_v<T>)
              return x < 0 ? wrapping_sub(T(0), x) : x;
            else
              return std::fabs(x);
          });
        },
    .pointwise = true,
};

}  // namespace stoker
