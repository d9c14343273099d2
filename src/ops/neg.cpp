// -x; the most negative integer stays itself.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_neg;
const Op op_neg = {
    .name = "neg",
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_unary(c, "neg", kFloats | kSignedInts));
      infer_elements(c, [](const Dim& a, const Dim&) { return std::optional(Dim(0) - a); });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number(c, [](auto x) {
            return std::is_integral_v<decltype(x)> ? wrapping_sub(decltype(x)(0), x) : -x;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
