// The Hann window: half a cosine period above 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/cosine_window.h"

namespace stoker {

extern const Op op_hann_window;
const Op op_hann_window = {
    .name = "hann_window",
    .attributes = {{"output_datatype", AttributeKind::kDType}, {"periodic", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_cosine_window(c, "hann_window"); },
    .evaluate =
        [](const EvalContext& c) { return evaluate_cosine_window(c, "hann_window", 0.5, 0.5, 0); },
    .transcendental = true,
};

}  // namespace stoker
