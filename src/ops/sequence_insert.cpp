// The sequence with a tensor put in front of a position, at the end without one.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_sequence(c, "sequence_insert", 0));
  STOKER_TRY(check_input(c, "sequence_insert", 1, "tensor", kAny));
  STOKER_TRY(check_same_dtype(c, "sequence_insert", 0, 1));
  STOKER_TRY(check_position(c, "sequence_insert", 2));
  const ValueType &sequence = c.type(0), &tensor = c.type(1);
  const bool agree = sequence.ranked && tensor.ranked && sequence.dims == tensor.dims;
  c.outputs[0] = sequence_of(sequence.dtype, agree ? std::optional(tensor.dims) : std::nullopt);
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_ASSIGN(auto elements, sequence_elements(c, "sequence_insert", 0));
  STOKER_TRY(check_tensor(c, "sequence_insert", 1, kAny));
  const Tensor& tensor = c.tensor(1);
  if (!elements.empty() && elements[0].is_tensor() &&
      elements[0].tensor().dtype() != tensor.dtype()) {
    return invalid_argument("sequence_insert: a tensor of {} in a sequence of {}",
                            dtype_name(tensor.dtype()), dtype_name(elements[0].tensor().dtype()));
  }
  const int64_t count = static_cast<int64_t>(elements.size());
  STOKER_ASSIGN(const size_t at, position_of(c, "sequence_insert", 2, count, count, count));
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), c.inputs[1]);
  c.outputs[0] = AnyValue::sequence(std::move(elements));
  return Status::ok();
}

}  // namespace

extern const Op op_sequence_insert;
const Op op_sequence_insert = {
    .name = "sequence_insert",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
