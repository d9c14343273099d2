// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer.h"

namespace stoker {

Status infer_optimizer(InferContext& c, const char* op, size_t groups) {
  constexpr DTypeSet kSet = dtypes({DType::kF32, DType::kF64});
  STOKER_TRY(check_input(c, op, 0, "learning rate", kSet));
  STOKER_TRY(check_input(c, op, 1, "update count", dtypes({DType::kI64})));
  if (c.inputs.size() < 2 + groups || (c.inputs.size() - 2) % groups != 0) {
    return invalid_model("{}: {} inputs, expected 2 and {} lists of equally many tensors", op,
                         c.inputs.size(), groups);
  }
  for (size_t i = 0; i < 2; ++i) {
    const Dim count = c.type(i).ranked ? product(c.type(i).dims) : Dim(1);
    if (count.is_const() && count.value() != 1)
      return invalid_model("{}: input {} is {}, expected a scalar", op, i, type_text(c.type(i)));
  }
  const size_t tensors = (c.inputs.size() - 2) / groups;
  std::vector<ValueType> types;
  for (size_t k = 0; k < tensors; ++k) {
    ValueType type = c.type(2 + k);
    for (size_t g = 0; g < groups; ++g) {
      const size_t i = 2 + g * tensors + k;
      STOKER_TRY(check_input(c, op, i, "operand", kSet));
      STOKER_TRY(check_same_dtype(c, op, 2 + k, i));
      const ValueType& own = c.type(i);
      if (!own.ranked) continue;
      if (!type.ranked) type = own;
      if (own.rank() != type.rank())
        return invalid_model("{}: input {} is {}, expected {}", op, i, type_text(own),
                             type_text(type));
      for (size_t d = 0; d < own.dims.size(); ++d) {
        STOKER_ASSIGN(type.dims[d],
                      same_dim(op, "operands of one tensor", type.dims[d], own.dims[d]));
      }
    }
    types.push_back(std::move(type));
  }
  if (c.outputs.size() != tensors * (groups - 1)) {
    return invalid_model("{}: {} outputs, expected {} for {} tensors", op, c.outputs.size(),
                         tensors * (groups - 1), tensors);
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) c.outputs[i] = types[i % tensors];
  return Status::ok();
}

Result<Step> optimizer_step(const EvalContext& c, const char* op, size_t groups) {
  STOKER_TRY(check_count(c.inputs[0], 1, op, "the learning rate"));
  STOKER_TRY(check_count(c.inputs[1], 1, op, "the update count"));
  Step step{Reader(c.inputs[0]).number(0), Reader(c.inputs[1]).number(0),
            (c.inputs.size() - 2) / groups};
  for (size_t k = 0; k < step.tensors; ++k) {
    const int64_t count = c.outputs[k].count();
    for (size_t g = 0; g < groups; ++g)
      STOKER_TRY(check_count(c.inputs[2 + g * step.tensors + k], count, op, "an operand"));
    for (size_t g = 0; g + 1 < groups; ++g)
      STOKER_TRY(check_count(c.outputs[g * step.tensors + k], count, op, "an output"));
  }
  return step;
}

}  // namespace stoker
