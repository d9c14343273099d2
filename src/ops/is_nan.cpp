// Whether x is NaN.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_is_nan;
const Op op_is_nan = {
    .name = "is_nan",
    .infer =
        [](InferContext& c) {
          return infer_unary(c, "is_nan", kFloats | kSmallFloats, DType::kBool);
        },
    .evaluate =
        [](const EvalContext& c) {
          return map_float(c, [](double x) { return std::isnan(x) ? 1.0 : 0.0; });
        },
    .pointwise = true,
};

}  // namespace stoker
