// A sequence of the inputs.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  bool agree = true;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    STOKER_TRY(check_input(c, "sequence_construct", i, "input", kAny));
    STOKER_TRY(check_same_dtype(c, "sequence_construct", 0, i));
    agree = agree && c.type(i) == c.type(0);
  }
  const ValueType& first = c.type(0);
  c.outputs[0] =
      sequence_of(first.dtype, agree && first.ranked ? std::optional(first.dims) : std::nullopt);
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i].is_tensor()) {
      return invalid_argument("sequence_construct: input {} is {}, expected a tensor", i,
                              kind_text(c.inputs[i]));
    }
  }
  c.outputs[0] = AnyValue::sequence({c.inputs.begin(), c.inputs.end()});
  return Status::ok();
}

}  // namespace

extern const Op op_sequence_construct;
const Op op_sequence_construct = {
    .name = "sequence_construct",
    .max_inputs = -1,
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
