// Whether the input holds something: false for an input left out or an empty optional.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_optional_has_element;
const Op op_optional_has_element = {
    .name = "optional_has_element",
    .min_inputs = 0,
    .infer = [](InferContext& c) -> Status {
      set_output(c, 0, DType::kBool, {});
      return Status::ok();
    },
    .evaluate_values = [](ValueContext& c) -> Status {
      STOKER_ASSIGN(Tensor answer, Tensor::allocate(DType::kBool, {}));
      answer.values<bool>()[0] = c.has(0);
      c.outputs[0] = std::move(answer);
      return Status::ok();
    },
};

}  // namespace stoker
