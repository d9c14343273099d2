// Bits that differ.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_bitwise_xor;
const Op op_bitwise_xor = {
    .name = "bitwise_xor",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) { return infer_broadcast(c, "bitwise_xor", kInts); },
    .evaluate =
        [](const EvalContext& c) {
          return map_number2(c, [](auto a, auto b) {
            if constexpr (std::is_integral_v<decltype(a)>)
              return static_cast<decltype(a)>(a ^ b);
            else
              return a;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
