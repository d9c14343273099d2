// One of two sub-graphs, chosen by the condition (input 0); the other inputs are what they capture.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_if;
const Op op_if = {
    .name = "if",
    .max_inputs = -1,
    .output_count = -1,
};

}  // namespace stoker
