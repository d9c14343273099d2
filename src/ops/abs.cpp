// |x|.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_abs;
const Op op_abs = {
    .name = "abs",
    .infer = [](InferContext& c) { return infer_unary(c, "abs", kNumbers); },
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
