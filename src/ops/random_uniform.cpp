// Random numbers of the uniform distribution on [low, high), in the shape
// that an attribute gives.
// SPDX-License-Identifier: Apache-2.0
#include "ops/drawn.h"

namespace stoker {

extern const Op op_random_uniform;
const Op op_random_uniform = {
    .name = "random_uniform",
    .min_inputs = 0,
    .max_inputs = 0,
    .attributes = {{"low", AttributeKind::kFloat},
                   {"high", AttributeKind::kFloat},
                   {"shape", AttributeKind::kInts, true},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = [](InferContext& c) { return infer_drawn(c, "random_uniform"); },
    .evaluate_values = [](ValueContext& c) { return evaluate_drawn(c, uniform_of(c.attributes)); },
    .deterministic = false,
};

}  // namespace stoker
