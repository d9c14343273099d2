// Random numbers of a normal distribution with `mean` and standard deviation `scale`, in the shape
// that an attribute gives.
// SPDX-License-Identifier: Apache-2.0
#include "ops/drawn.h"

namespace stoker {

extern const Op op_random_normal;
const Op op_random_normal = {
    .name = "random_normal",
    .min_inputs = 0,
    .max_inputs = 0,
    .attributes = {{"mean", AttributeKind::kFloat},
                   {"scale", AttributeKind::kFloat},
                   {"shape", AttributeKind::kInts, true},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_drawn(c, "random_normal"); },
    .evaluate_values = [](ValueContext& c) { return evaluate_drawn(c, normal_of(c.attributes)); },
    .deterministic = false,
};

}  // namespace stoker
