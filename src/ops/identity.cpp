// The input itself, of any kind.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_identity;
const Op op_identity = {
    .name = "identity",
    .infer = [](InferContext& c) -> Status {
      if (!c.has(0) || c.type(0).kind == ValueType::Kind::kTensor)
        STOKER_TRY(check_input(c, "identity", 0, "input", kAny));
      c.outputs[0] = c.type(0);
      pass_elements(c, 0);
      return Status::ok();
    },
    .evaluate = [](const EvalContext& c) { return copy_reshaped(c.outputs[0], c.inputs[0]); },
    // Where whole values are at hand, tensors too are shared instead of copied.
    .evaluate_values = [](ValueContext& c) -> Status {
      c.outputs[0] = c.inputs[0];
      return Status::ok();
    },
    .pointwise = true,
};

}  // namespace stoker
