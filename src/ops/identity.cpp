// The input itself.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_identity;
const Op op_identity = {
    .name = "identity",
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(check_input(c, "identity", 0, "input", kAny));
      c.outputs[0] = c.type(0);
      pass_elements(c, 0);
      return Status::ok();
    },
    .evaluate = [](const EvalContext& c) { return copy_reshaped(c.outputs[0], c.inputs[0]); },
    .pointwise = true,
};

}  // namespace stoker
