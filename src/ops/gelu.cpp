// Gaussian error linear unit, exact or by the tanh approximation.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_gelu;
const Op op_gelu = {
    .name = "gelu",
    .attributes = {{"approximate", AttributeKind::kString}},
    .infer = [](InferContext& c) -> Status {
      const std::string kind = c.attributes.get_string("approximate", "none");
      if (kind != "none" && kind != "tanh") {
        return invalid_model("gelu: approximate is \"{}\", expected \"none\" or \"tanh\"", kind);
      }
      return infer_unary(c, "gelu", kFloats);
    },
    .evaluate =
        [](const EvalContext& c) {
          if (c.attributes.get_string("approximate", "none") == "tanh") {
            constexpr double kSqrt2OverPi = 0.79788456080286535588;
            return map_float(c, [](double x) {
              return 0.5 * x * (1.0 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)));
            });
          }
          // erfc keeps the small values of the left tail, which 1 + erf would cancel.
          return map_float(
              c, [](double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
