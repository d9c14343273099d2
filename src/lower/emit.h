// The writer of a plan program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/lower_graph.h"
#include "lower/lowered.h"

namespace stoker {

class Emitter {
 public:
  Emitter(EngineContents& contents, const LowerOptions& options)
      : contents_(contents), options_(options) {
    program_.name = "main";
  }

  void input(const Value* value);
  Status step(const LoweredStep& step);
  Status output(const std::string& name, const Value* value);
  PlanProgram take() { return std::move(program_); }

 private:
  Result<int32_t> tensor_of(const LoweredOperand& operand);
  int32_t add_tensor(const Value* value, PlanTensor::Kind kind);
  int32_t add_weight(const std::string& name, const Tensor& tensor, WeightRecipe recipe);
  int32_t root_of(int32_t tensor) const;

  EngineContents& contents_;
  const LowerOptions& options_;
  PlanProgram program_;
  std::map<const Value*, int32_t> tensors_;
};

// Parameters of a step that copies the tensor whole; scalars and sub-byte elements, which the copy
// family does not take, go through the identity op.
Params whole_copy(const PlanTensor& tensor);

// The recipe of a constant: the nodes that lead to it from the model's own weights.
WeightRecipe recipe_of(const Value* value);

}  // namespace stoker
