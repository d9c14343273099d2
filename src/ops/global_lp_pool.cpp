// The p-norm of every plane.
// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_global_lp_pool;
const Op op_global_lp_pool = {
    .name = "global_lp_pool",
    .attributes = {{"p", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_global_pool(c, "global_lp_pool"); },
    .evaluate =
        [](const EvalContext& c) {
          const double p = static_cast<double>(c.attributes.get_int("p", 2));
          return global_pool(c, [p](std::span<const double> plane) {
            double sum = 0;
            for (const double v : plane) sum += std::pow(std::fabs(v), p);
            return std::pow(sum, 1.0 / p);
          });
        },
    .transcendental = true,
};

}  // namespace stoker
