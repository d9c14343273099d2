// Logarithm of the sum of exponentials over axes, shifted by the maximum so that it does not
// overflow.
// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_reduce_log_sum_exp;
const Op op_reduce_log_sum_exp = {
    .name = "reduce_log_sum_exp",
    .max_inputs = 2,
    .attributes = reduce_attributes(),
    .infer = [](InferContext& c) { return infer_reduce(c, "reduce_log_sum_exp", kReducible); },
    .evaluate = [](const EvalContext& c) -> Status {
      STOKER_ASSIGN(const Reduction r, reduction_of(c));
      const TensorView &x = c.inputs[0], &y = c.outputs[0];
      const LoadDouble load = load_double(x.dtype);
      const StoreDouble store = store_double(y.dtype);
      for_each_wanted(r.walk.kept, r.kept_wanted, [&](const int64_t* kept) {
        double top = -HUGE_VAL, sum = 0;
        for_each_wanted(r.walk.inner, {}, [&](const int64_t* o) {
          top = std::max(top, load(x.data, kept[0] + o[0]));
        });
        const double shift = std::isfinite(top) ? top : 0.0;
        for_each_wanted(r.walk.inner, {}, [&](const int64_t* o) {
          sum += std::exp(load(x.data, kept[0] + o[0]) - shift);
        });
        store(y.data, kept[1], std::log(sum) + shift);
      });
      return Status::ok();
    },
    .transcendental = true,
};

}  // namespace stoker
