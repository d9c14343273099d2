// Random numbers of a normal distribution with `mean` and standard deviation `scale`, in the shape
// of the input.
// SPDX-License-Identifier: Apache-2.0
#include "ops/drawn.h"

namespace stoker {

extern const Op op_random_normal_like;
const Op op_random_normal_like = {
    .name = "random_normal_like",
    .attributes = {{"mean", AttributeKind::kFloat},
                   {"scale", AttributeKind::kFloat},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_drawn_like(c, "random_normal_like"); },
    .evaluate_values =
        [](ValueContext& c) {
          return evaluate_drawn_like(c, "random_normal_like", normal_of(c.attributes));
        },
    .deterministic = false,
};

}  // namespace stoker
