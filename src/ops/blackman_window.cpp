// The Blackman window, with the coefficients 0.42, 0.5 and 0.08.
// SPDX-License-Identifier: Apache-2.0
#include "ops/cosine_window.h"

namespace stoker {

extern const Op op_blackman_window;
const Op op_blackman_window = {
    .name = "blackman_window",
    .attributes = {{"output_datatype", AttributeKind::kDType}, {"periodic", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_cosine_window(c, "blackman_window"); },
    .evaluate =
        [](const EvalContext& c) {
          return evaluate_cosine_window(c, "blackman_window", 0.42, 0.5, 0.08);
        },
    .transcendental = true,
};

}  // namespace stoker
