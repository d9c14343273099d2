// Sub-graph run again and again. Inputs: the trip count or none, the condition or none, the carried
// values, what the body captures. Attribute "carried" counts the carried values. The body takes the
// iteration number, the condition, the carried values and the captured ones, and gives the
// condition, the carried values and one element of each scan output.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_loop;
const Op op_loop = {
    .name = "loop",
    .min_inputs = 0,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{"carried", AttributeKind::kInt, true}},
};

}  // namespace stoker
