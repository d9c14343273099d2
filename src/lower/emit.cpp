// SPDX-License-Identifier: Apache-2.0
#include "lower/emit.h"

#include <algorithm>
#include <unordered_map>

namespace stoker {

namespace {

PlanTensor::Holds holds_of(const ValueType& type) {
  switch (type.kind) {
    case ValueType::Kind::kSequence: return PlanTensor::Holds::kSequence;
    case ValueType::Kind::kOptional: return PlanTensor::Holds::kOptional;
    case ValueType::Kind::kMap: return PlanTensor::Holds::kMap;
    default: return PlanTensor::Holds::kTensor;
  }
}

}  // namespace

int32_t Emitter::add_tensor(const Value* value, PlanTensor::Kind kind) {
  PlanTensor tensor;
  tensor.name = value->name;
  tensor.kind = kind;
  tensor.holds = holds_of(value->type);
  tensor.ranked = value->type.ranked;
  tensor.dtype = value->type.dtype;
  tensor.dims = value->type.dims;
  if (!is_dynamic()) tensor.place = options_.place;
  program_.tensors.push_back(std::move(tensor));
  const auto id = static_cast<int32_t>(program_.tensors.size()) - 1;
  tensors_[value] = id;
  return id;
}

int32_t Emitter::add_weight(const std::string& name, const Tensor& tensor, WeightRecipe recipe) {
  PlanWeight weight;
  weight.name = name;
  weight.dtype = tensor.dtype();
  weight.shape = tensor.shape();
  weight.bytes = tensor;
  weight.recipe = std::move(recipe);
  contents_.weights.push_back(std::move(weight));
  return static_cast<int32_t>(contents_.weights.size()) - 1;
}

int32_t Emitter::add_weight_tensor(const std::string& name, int32_t weight) {
  const PlanWeight& source = contents_.weights[static_cast<size_t>(weight)];
  PlanTensor entry;
  entry.name = name;
  entry.kind = PlanTensor::Kind::kWeight;
  entry.dtype = source.dtype;
  for (const int64_t extent : source.shape) entry.dims.emplace_back(extent);
  if (!is_dynamic()) entry.place = options_.place;
  entry.weight = weight;
  program_.tensors.push_back(std::move(entry));
  return static_cast<int32_t>(program_.tensors.size()) - 1;
}

int32_t Emitter::root_of(int32_t tensor) const {
  const int32_t alias = program_.tensors[static_cast<size_t>(tensor)].alias_of;
  return alias >= 0 ? alias : tensor;
}

void Emitter::input(const std::string& name, const Value* value) {
  const int32_t id = add_tensor(value, PlanTensor::Kind::kInput);
  program_.inputs.push_back({name, id});
}

Result<int32_t> Emitter::tensor_of(const LoweredOperand& operand) {
  if (!operand.present()) return -1;
  if (operand.frozen) {
    WeightRecipe frozen;
    frozen.result = -1;
    return add_weight_tensor(operand.frozen_name,
                             add_weight(operand.frozen_name, *operand.frozen, std::move(frozen)));
  }
  const Value* value = operand.value;
  if (const auto it = tensors_.find(value); it != tensors_.end()) return it->second;
  if (value->is_constant()) {
    if (value->type.dtype == DType::kString && !is_dynamic())
      return unsupported("string constant '{}'", value->name);
    auto known = weights_.weights.find(value);
    if (known == weights_.weights.end()) {
      WeightRecipe recipe = recipe_of(value, weights_, contents_);
      const int32_t made = add_weight(value->name, *value->constant, std::move(recipe));
      known = weights_.weights.emplace(value, made).first;
    }
    const int32_t id = add_weight_tensor(value->name, known->second);
    tensors_[value] = id;
    return id;
  }
  if (value->elements) {
    const int32_t id = add_tensor(value, PlanTensor::Kind::kShapeValue);
    program_.tensors[static_cast<size_t>(id)].elements = *value->elements;
    return id;
  }
  return internal_error("value '{}' is used before it is computed", value->name);
}

Status Emitter::step(const LoweredStep& lowered) {
  PlanStep step;
  step.name = prefix_ + lowered.name;
  step.origins = lowered.origins;
  step.place = options_.place;
  for (const LoweredOperand& operand : lowered.inputs) {
    STOKER_ASSIGN(const int32_t id, tensor_of(operand));
    step.inputs.push_back(id);
  }
  if (lowered.alias) {
    const int32_t root = root_of(step.inputs[0]);
    const PlanTensor::Kind kind = program_.tensors[static_cast<size_t>(root)].kind;
    if (kind == PlanTensor::Kind::kTemporary || kind == PlanTensor::Kind::kInput) {
      const int32_t id = add_tensor(lowered.outputs[0], PlanTensor::Kind::kTemporary);
      program_.tensors[static_cast<size_t>(id)].alias_of = root;
      viewed_.insert(root);
      return Status::ok();
    }
    return internal_error("'{}' is a view of a constant", lowered.name);
  }
  if (!lowered.refusal.empty())
    contents_.volatile_section.notes.push_back(step.name + " is slow: " + lowered.refusal);
  step.params = lowered.params;
  step.param_dims = lowered.param_dims;
  for (const Value* output : lowered.outputs)
    step.outputs.push_back(add_tensor(output, PlanTensor::Kind::kTemporary));
  program_.steps.push_back(std::move(step));
  return Status::ok();
}

Status Emitter::output(const std::string& name, const Value* value) {
  STOKER_ASSIGN(const int32_t id, tensor_of(operand_of(value)));
  PlanTensor& tensor = program_.tensors[static_cast<size_t>(id)];
  const bool free = tensor.kind == PlanTensor::Kind::kTemporary && tensor.alias_of < 0;
  if (free && !viewed_.count(id)) {
    tensor.kind = PlanTensor::Kind::kOutput;
    program_.outputs.push_back({name, id});
    return Status::ok();
  }
  PlanTensor copy = tensor;
  copy.name = name;
  copy.kind = PlanTensor::Kind::kOutput;
  copy.weight = -1;
  copy.alias_of = -1;
  copy.elements.clear();
  PlanStep step;
  step.name = prefix_ + "output_" + name;
  step.place = options_.place;
  step.inputs = {id};
  step.outputs = {static_cast<int32_t>(program_.tensors.size())};
  step.params = whole_copy(copy);
  program_.outputs.push_back({name, step.outputs[0]});
  program_.tensors.push_back(std::move(copy));
  program_.steps.push_back(std::move(step));
  return Status::ok();
}

Status Emitter::dynamic_step(const std::string& name, FallbackParams params,
                             std::span<Value* const> inputs, std::span<Value* const> outputs,
                             std::vector<std::string> origins, std::vector<int32_t> subprograms) {
  PlanStep step;
  step.name = prefix_ + name;
  step.params = std::move(params);
  step.origins = std::move(origins);
  step.subprograms = std::move(subprograms);
  for (const Value* input : inputs) {
    STOKER_ASSIGN(const int32_t id, tensor_of(input ? operand_of(input) : LoweredOperand{}));
    step.inputs.push_back(id);
  }
  for (const Value* output : outputs)
    step.outputs.push_back(add_tensor(output, PlanTensor::Kind::kTemporary));
  program_.steps.push_back(std::move(step));
  return Status::ok();
}

Status Emitter::dynamic_output(const std::string& name, const Value* value) {
  STOKER_ASSIGN(const int32_t id, tensor_of(operand_of(value)));
  program_.outputs.push_back({name, id});
  return Status::ok();
}

Params whole_copy(const PlanTensor& tensor) {
  if (tensor.dims.empty() || dtype_bits(tensor.dtype) < 8) return FallbackParams{"identity", {}};
  return identity_copy(static_cast<int64_t>(tensor.dims.size()));
}

namespace {

// The same constant may be met as copies in several graphs: equal content under one name is one
// source.
std::string enter_source(const Value* value, WeightIndex& index, EngineContents& contents) {
  const std::string& wanted = value->origin.empty() ? value->name : value->origin;
  if (!index.keep_sources) return wanted;
  const auto [it, added] = index.sources.try_emplace({wanted, value->constant->data()});
  if (!added) return it->second;
  std::string name = wanted;
  for (int number = ++index.names[wanted]; number > 1;) {
    name = fmt::format("{}#{}", wanted, number);
    if (index.names[name]++ == 0) break;
    number = ++index.names[wanted];
  }
  PlanSource source;
  source.name = name;
  source.dtype = value->constant->dtype();
  source.shape = value->constant->shape();
  source.bytes = *value->constant;
  contents.sources.push_back(std::move(source));
  return it->second = name;
}

}  // namespace

WeightRecipe recipe_of(const Value* value, WeightIndex& index, EngineContents& contents) {
  WeightRecipe recipe;
  // Sources are numbered first, so the nodes are collected before operands get their numbers. A
  // value is met twice: before and after those that it is made of.
  std::vector<const Node*> nodes;
  std::vector<const Value*> sources;
  std::unordered_set<const Value*> seen;
  std::unordered_set<const Node*> entered;
  std::vector<std::pair<const Value*, bool>> open{{value, false}};
  while (!open.empty()) {
    const auto [v, finished] = open.back();
    open.pop_back();
    if (finished) {
      nodes.push_back(v->producer);
      continue;
    }
    if (!v || !seen.insert(v).second) continue;
    if (!v->producer) {
      sources.push_back(v);
    } else if (entered.insert(v->producer).second) {
      open.emplace_back(v, true);
      const auto& inputs = v->producer->inputs;
      for (size_t i = inputs.size(); i-- > 0;) open.emplace_back(inputs[i], false);
    }
  }
  std::unordered_map<const Value*, int32_t> number;
  for (const Value* source : sources) {
    number[source] = static_cast<int32_t>(number.size());
    recipe.sources.push_back(enter_source(source, index, contents));
  }
  for (const Node* node : nodes) {
    RecipeStep step;
    step.op = node->op->name;
    step.attributes = node->attributes;
    for (const Value* input : node->inputs) step.inputs.push_back(input ? number.at(input) : -1);
    step.output_count = static_cast<int32_t>(node->outputs.size());
    for (const Value* output : node->outputs) {
      const auto next = static_cast<int32_t>(number.size());
      number[output] = next;
    }
    recipe.steps.push_back(std::move(step));
  }
  recipe.result = number.at(value);
  return recipe;
}

}  // namespace stoker
