// Every bit inverted.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_bitwise_not;
const Op op_bitwise_not = {
    .name = "bitwise_not",
    .infer = [](InferContext& c) { return infer_unary(c, "bitwise_not", kInts); },
    .evaluate =
        [](const EvalContext& c) {
          return map_number(c, [](auto x) {
            if constexpr (std::is_integral_v<decltype(x)>)
              return static_cast<decltype(x)>(~x);
            else
              return x;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
