// Logical not.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_not;
const Op op_not = {
    .name = "not",
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_unary(c, "not", kBools));
      infer_elements(c, [](const Dim& a, const Dim&) { return std::optional(Dim(1) - a); });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number(c, [](auto x) { return decltype(x)(x == 0); });
        },
    .pointwise = true,
};

}  // namespace stoker
