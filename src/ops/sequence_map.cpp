// Sub-graph run on each element of input 0, a sequence; of the next "mapped" inputs a sequence
// gives its element too and a tensor itself; the others are what the body captures.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_sequence_map;
const Op op_sequence_map = {
    .name = "sequence_map",
    .min_inputs = 1,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{"mapped", AttributeKind::kInt, true}},
};

}  // namespace stoker
