// Logarithm of softmax along an axis.
// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_log_softmax;
const Op op_log_softmax = {
    .name = "log_softmax",
    .attributes = {{"axis", AttributeKind::kInt}, {"legacy_flatten", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_softmax(c, "log_softmax"); },
    .evaluate =
        [](const EvalContext& c) {
          return softmax(c, [](double shifted, double sum) { return shifted - std::log(sum); });
        },
    .transcendental = true,
};

}  // namespace stoker
