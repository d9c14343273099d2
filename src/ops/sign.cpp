// -1, 0 or 1; NaN stays NaN.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_sign;
const Op op_sign = {
    .name = "sign",
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_unary(c, "sign", kNumbers));
      infer_elements(c, [](const Dim& a, const Dim&) {
        return std::optional(Dim::max(Dim(-1), Dim::min(Dim(1), a)));
      });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number(c, [](auto x) {
            using T = decltype(x);
            return x > 0 ? T(1) : x < 0 ? T(-1) : x;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
