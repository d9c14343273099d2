// Bits of a moved left or right by b; moving by the width or more gives 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {
bool is_left(const Attributes& a) { return a.get_string("direction") == "LEFT"; }
}  // namespace

extern const Op op_bit_shift;
const Op op_bit_shift = {
    .name = "bit_shift",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"direction", AttributeKind::kString, true}},
    .infer = [](InferContext& c) -> Status {
      const std::string direction = c.attributes.get_string("direction");
      if (direction != "LEFT" && direction != "RIGHT") {
        return invalid_model("bit_shift: direction is \"{}\", expected LEFT or RIGHT", direction);
      }
      return infer_broadcast(c, "bit_shift", kUnsignedInts);
    },
    .evaluate =
        [](const EvalContext& c) {
          const bool left = is_left(c.attributes);
          return map_number2(c, [=](auto a, auto b) {
            const uint64_t value = static_cast<uint64_t>(a), shift = static_cast<uint64_t>(b);
            if (shift >= 64) return decltype(a)(0);
            return static_cast<decltype(a)>(left ? value << shift : value >> shift);
          });
        },
    .pointwise = true,
};

}  // namespace stoker
