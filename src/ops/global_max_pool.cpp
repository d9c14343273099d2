// Largest element of every plane.
// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_global_max_pool;
const Op op_global_max_pool = {
    .name = "global_max_pool",
    .infer = [](InferContext& c) { return infer_global_pool(c, "global_max_pool"); },
    .evaluate =
        [](const EvalContext& c) {
          return global_pool(c, [](std::span<const double> plane) {
            return plane.empty() ? -HUGE_VAL : *std::max_element(plane.begin(), plane.end());
          });
        },
};

}  // namespace stoker
