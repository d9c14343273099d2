// Whether x is an infinity of a sign that is asked for.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_is_inf;
const Op op_is_inf = {
    .name = "is_inf",
    .attributes = {{"detect_negative", AttributeKind::kInt},
                   {"detect_positive", AttributeKind::kInt}},
    .infer =
        [](InferContext& c) {
          return infer_unary(c, "is_inf", kFloats | kSmallFloats, DType::kBool);
        },
    .evaluate =
        [](const EvalContext& c) {
          const bool negative = c.attributes.get_int("detect_negative", 1) != 0;
          const bool positive = c.attributes.get_int("detect_positive", 1) != 0;
          return map_float(c, [=](double x) {
            return std::isinf(x) && (x < 0 ? negative : positive) ? 1.0 : 0.0;
          });
        },
    .pointwise = true,
};

}  // namespace stoker
