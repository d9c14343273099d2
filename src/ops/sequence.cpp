// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

using Kind = ValueType::Kind;

Status check_sequence(const InferContext& c, const char* op, size_t i) {
  if (!c.has(i)) return invalid_model("{}: input {} is missing", op, i);
  if (c.type(i).kind == Kind::kSequence && c.type(i).inner == Kind::kTensor) return Status::ok();
  return invalid_model("{}: input {} is {}, expected a sequence of tensors", op, i,
                       type_text(c.type(i)));
}

Status check_position(const InferContext& c, const char* op, size_t i) {
  if (!c.has(i)) return Status::ok();
  STOKER_TRY(check_input(c, op, i, "position", kIndices));
  const ValueType& type = c.type(i);
  if (!type.ranked || product(type.dims).constant().value_or(1) == 1) return Status::ok();
  return invalid_model("{}: position (input {}) is {}, expected one element", op, i,
                       type_text(type));
}

ValueType sequence_of(DType dtype, std::optional<Dims> dims) {
  ValueType type = ValueType::sequence(dtype);
  type.ranked = dims.has_value();
  if (dims) type.dims = std::move(*dims);
  return type;
}

ValueType element_of(const ValueType& sequence) {
  return sequence.ranked ? ValueType::tensor(sequence.dtype, sequence.dims)
                         : ValueType::unranked(sequence.dtype);
}

Result<std::vector<AnyValue>> sequence_elements(const ValueContext& c, const char* op, size_t i) {
  if (c.has(i) && c.inputs[i].kind() == AnyValue::Kind::kSequence) return c.inputs[i].elements();
  return invalid_argument("{}: input {} is {}, expected a sequence", op, i,
                          i < c.inputs.size() ? kind_text(c.inputs[i]) : "nothing");
}

Result<size_t> position_of(const ValueContext& c, const char* op, size_t i, int64_t count,
                           int64_t last, int64_t fallback) {
  int64_t position = fallback;
  if (c.has(i)) {
    STOKER_TRY(check_tensor(c, op, i, kIndices));
    const Tensor& tensor = c.tensor(i);
    if (tensor.count() != 1) {
      return invalid_argument("{}: position has {} elements, expected 1", op, tensor.count());
    }
    position = load_int(tensor.dtype())(tensor.data(), 0);
  }
  const int64_t at = position < 0 ? position + count : position;
  if (at >= 0 && at <= last) return static_cast<size_t>(at);
  return invalid_argument("{}: position {} is outside a sequence of {}", op, position, count);
}

const char* kind_text(const AnyValue& value) {
  switch (value.kind()) {
    case AnyValue::Kind::kTensor: return "a tensor";
    case AnyValue::Kind::kSequence: return "a sequence";
    case AnyValue::Kind::kMap: return "a map";
    default: return "nothing";
  }
}

}  // namespace stoker
