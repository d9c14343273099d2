// A sequence without elements, for tensors of `dtype` (default f32).
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

extern const Op op_sequence_empty;
const Op op_sequence_empty = {
    .name = "sequence_empty",
    .min_inputs = 0,
    .max_inputs = 0,
    .attributes = {{"dtype", AttributeKind::kDType}},
    .infer = [](InferContext& c) -> Status {
      c.outputs[0] = sequence_of(c.attributes.get_dtype("dtype", DType::kF32), std::nullopt);
      return Status::ok();
    },
    .evaluate_values = [](ValueContext& c) -> Status {
      c.outputs[0] = AnyValue::sequence({});
      return Status::ok();
    },
};

}  // namespace stoker
