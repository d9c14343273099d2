// Sub-graph run along an axis. Inputs: the carried values, the scanned tensors, what the body
// captures. Attribute "carried" counts the carried values, "scanned" the scanned ones.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_scan;
const Op op_scan = {
    .name = "scan",
    .min_inputs = 0,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{"carried", AttributeKind::kInt, true},
                   {"scanned", AttributeKind::kInt, true},
                   {"scan_input_axes", AttributeKind::kInts},
                   {"scan_input_directions", AttributeKind::kInts},
                   {"scan_output_axes", AttributeKind::kInts},
                   {"scan_output_directions", AttributeKind::kInts},
                   {"batched", AttributeKind::kInt}},
};

}  // namespace stoker
