// Random numbers of the uniform distribution on [low, high), in the shape
// of the input.
// SPDX-License-Identifier: Apache-2.0
#include "ops/drawn.h"

namespace stoker {

extern const Op op_random_uniform_like;
const Op op_random_uniform_like = {
    .name = "random_uniform_like",
    .attributes = {{"low", AttributeKind::kFloat},
                   {"high", AttributeKind::kFloat},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_drawn_like(c, "random_uniform_like"); },
    .evaluate_values =
        [](ValueContext& c) {
          return evaluate_drawn_like(c, "random_uniform_like", uniform_of(c.attributes));
        },
    .deterministic = false,
};

}  // namespace stoker
