// The Hamming window, with the coefficients 25/46 and 21/46.
// SPDX-License-Identifier: Apache-2.0
#include "ops/cosine_window.h"

namespace stoker {

extern const Op op_hamming_window;
const Op op_hamming_window = {
    .name = "hamming_window",
    .attributes = {{"output_datatype", AttributeKind::kDType}, {"periodic", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_cosine_window(c, "hamming_window"); },
    .evaluate =
        [](const EvalContext& c) {
          return evaluate_cosine_window(c, "hamming_window", 25.0 / 46, 21.0 / 46, 0);
        },
    .transcendental = true,
};

}  // namespace stoker
