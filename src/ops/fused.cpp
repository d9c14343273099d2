// A fused region: its sub-graph says what it computes. The graph infers it, the runtime executes
// it.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_fused;
const Op op_fused = {
    .name = "fused",
    .min_inputs = 0,
    .max_inputs = -1,
    .output_count = -1,
};

}  // namespace stoker
