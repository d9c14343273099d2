// The sequence without the tensor at a position, without the last one when none is given.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_sequence(c, "sequence_erase", 0));
  STOKER_TRY(check_position(c, "sequence_erase", 1));
  c.outputs[0] = c.type(0);
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_ASSIGN(auto elements, sequence_elements(c, "sequence_erase", 0));
  const int64_t count = static_cast<int64_t>(elements.size());
  STOKER_ASSIGN(const size_t at, position_of(c, "sequence_erase", 1, count, count - 1, -1));
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  c.outputs[0] = AnyValue::sequence(std::move(elements));
  return Status::ok();
}

}  // namespace

extern const Op op_sequence_erase;
const Op op_sequence_erase = {
    .name = "sequence_erase",
    .max_inputs = 2,
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
