// x, or slope * x below 0; the slope broadcasts to x.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_prelu;
const Op op_prelu = {
    .name = "prelu",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "prelu", kNumbers));
      if (!c.outputs[0].ranked) return Status::ok();
      const Dims& x = c.type(0).dims;
      for (size_t d = 0; c.outputs[0].dims.size() == x.size() && d < x.size(); ++d) {
        STOKER_TRY(
            same_dim("prelu", "input and output extents", x[d], c.outputs[0].dims[d]).status());
      }
      if (c.outputs[0].dims.size() != x.size()) {
        return invalid_model("prelu: slope {} has a higher rank than the input {}",
                             type_text(c.type(1)), type_text(c.type(0)));
      }
      c.outputs[0].dims = x;
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          return map_number2(c,
                             [](auto x, auto slope) { return x < 0 ? wrapping_mul(x, slope) : x; });
        },
    .pointwise = true,
};

}  // namespace stoker
