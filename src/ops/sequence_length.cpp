// How many tensors a sequence holds.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

extern const Op op_sequence_length;
const Op op_sequence_length = {
    .name = "sequence_length",
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(check_sequence(c, "sequence_length", 0));
      set_output(c, 0, DType::kI64, {});
      return Status::ok();
    },
    .evaluate_values = [](ValueContext& c) -> Status {
      STOKER_ASSIGN(const auto elements, sequence_elements(c, "sequence_length", 0));
      c.outputs[0] = Tensor::scalar_i64(static_cast<int64_t>(elements.size()));
      return Status::ok();
    },
};

}  // namespace stoker
