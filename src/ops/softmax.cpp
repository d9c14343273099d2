// e^x / sum of e^x along an axis.
// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_softmax;
const Op op_softmax = {
    .name = "softmax",
    .attributes = {{"axis", AttributeKind::kInt}, {"legacy_flatten", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_softmax(c, "softmax"); },
    .evaluate =
        [](const EvalContext& c) {
          return softmax(c, [](double shifted, double sum) { return std::exp(shifted) / sum; });
        },
    .transcendental = true,
};

}  // namespace stoker
