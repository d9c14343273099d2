// Product over axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_prod;
const Op op_reduce_prod = {
    .name = "reduce_prod",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_reduce(c, "reduce_prod", kReducible));
      reduce_elements(c, [](const Dim& a, const Dim& b) { return a * b; });
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, 1.0, 1, 1, [](auto product, auto x) { return wrapping_mul(product, x); },
              [](auto product, int64_t) { return product; });
        },
};

}  // namespace stoker
