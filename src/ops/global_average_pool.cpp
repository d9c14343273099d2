// Mean of every plane.
// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_global_average_pool;
const Op op_global_average_pool = {
    .name = "global_average_pool",
    .infer = [](InferContext& c) { return infer_global_pool(c, "global_average_pool"); },
    .evaluate =
        [](const EvalContext& c) {
          return global_pool(c, [](std::span<const double> plane) {
            double sum = 0;
            for (const double v : plane) sum += v;
            return sum / static_cast<double>(plane.size());
          });
        },
};

}  // namespace stoker
