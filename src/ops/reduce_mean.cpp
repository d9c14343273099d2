// Mean over axes; integers truncate.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_mean;
const Op op_reduce_mean = {
    .name = "reduce_mean",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) { return infer_reduce(c, "reduce_mean", kReducible); },
    .evaluate =
        [](const EvalContext& c) {
          return reduce_number(
              c, 0.0, 0, 0, [](auto sum, auto x) { return wrapping_add(sum, x); },
              [](auto sum, int64_t n) {
                using T = decltype(sum);
                return std::is_integral_v<T> && n == 0 ? T(0)
                                                       : static_cast<T>(sum / static_cast<T>(n));
              });
        },
};

}  // namespace stoker
