// The tensor at a position of a sequence.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_sequence(c, "sequence_at", 0));
  if (!c.has(1)) return invalid_model("sequence_at: position (input 1) is missing");
  STOKER_TRY(check_position(c, "sequence_at", 1));
  c.outputs[0] = element_of(c.type(0));
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_ASSIGN(const auto elements, sequence_elements(c, "sequence_at", 0));
  const int64_t count = static_cast<int64_t>(elements.size());
  STOKER_ASSIGN(const size_t at, position_of(c, "sequence_at", 1, count, count - 1, count));
  c.outputs[0] = elements[at];
  return Status::ok();
}

}  // namespace

extern const Op op_sequence_at;
const Op op_sequence_at = {
    .name = "sequence_at",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
