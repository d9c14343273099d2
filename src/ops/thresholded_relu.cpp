// x above alpha, otherwise 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_thresholded_relu;
const Op op_thresholded_relu = {
    .name = "thresholded_relu",
    .attributes = {{"alpha", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_unary(c, "thresholded_relu", kFloats); },
    .evaluate =
        [](const EvalContext& c) {
          const double alpha = c.attributes.get_float("alpha", 1.0);
          return map_float(c, [=](double x) { return x > alpha ? x : 0.0; });
        },
    .pointwise = true,
};

}  // namespace stoker
