// The writer of one plan program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <unordered_set>

#include "lower/lower_graph.h"
#include "lower/lowered.h"

namespace stoker {

// What the programs of a plan share: weights by the value they come from, and, for an engine that
// will be refitted, the names of the constants that recipes start from, by wanted name and storage.
struct WeightIndex {
  bool keep_sources = false;
  std::map<const Value*, int32_t> weights;
  std::map<std::pair<std::string, const void*>, std::string> sources;
  std::map<std::string, int> names;  // how many sources wanted each
};

class Emitter {
 public:
  // Names of steps get `prefix` in front: they are unique in the whole plan.
  Emitter(EngineContents& contents, const LowerOptions& options, WeightIndex& weights,
          std::string name, PlanProgram::Kind kind, std::string prefix = "")
      : contents_(contents), options_(options), weights_(weights), prefix_(std::move(prefix)) {
    program_.name = std::move(name);
    program_.kind = kind;
  }

  void input(const std::string& name, const Value* value);
  // Static programs: a step, or a view when the lowered step is one.
  Status step(const LoweredStep& step);
  // An output that a step computes is written by it; anything else (a view, an input, a constant, a
  // second mention) is copied.
  Status output(const std::string& name, const Value* value);

  // Dynamic programs: a step that evaluates `op`, or runs `subprograms` on its operands.
  Status dynamic_step(const std::string& name, FallbackParams params,
                      std::span<Value* const> inputs, std::span<Value* const> outputs,
                      std::vector<std::string> origins, std::vector<int32_t> subprograms);
  Status dynamic_output(const std::string& name, const Value* value);

  PlanProgram take() { return std::move(program_); }

 private:
  Result<int32_t> tensor_of(const LoweredOperand& operand);
  int32_t add_tensor(const Value* value, PlanTensor::Kind kind);
  int32_t add_weight(const std::string& name, const Tensor& tensor, WeightRecipe recipe);
  int32_t add_weight_tensor(const std::string& name, int32_t weight);
  int32_t root_of(int32_t tensor) const;
  bool is_dynamic() const { return program_.kind == PlanProgram::Kind::kDynamic; }

  EngineContents& contents_;
  const LowerOptions& options_;
  WeightIndex& weights_;
  const std::string prefix_;
  PlanProgram program_;
  std::map<const Value*, int32_t> tensors_;
  std::unordered_set<int32_t> viewed_;  // tensors that views lie in
};

// Parameters of a step that copies the tensor whole; scalars and sub-byte elements, which the copy
// family does not take, go through the identity op.
Params whole_copy(const PlanTensor& tensor);

// The recipe of a constant: the nodes that lead to it from the model's own weights. Its sources are
// entered in `contents` when they are new; a name that stands for another value already gets a
// number.
WeightRecipe recipe_of(const Value* value, WeightIndex& index, EngineContents& contents);

}  // namespace stoker
