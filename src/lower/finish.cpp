// Packing and ordering, once every step has its tactic.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lower/lower_graph.h"
#include "plan/bind.h"

namespace stoker {
namespace {

// Steps that read a tensor wait for the step that wrote it (or its root, for a view).
void compute_order(PlanProgram& program) {
  std::vector<int32_t> writer(program.tensors.size(), -1);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    PlanStep& step = program.steps[s];
    step.after.clear();
    for (const int32_t input : step.inputs) {
      if (input < 0) continue;
      const int32_t alias = program.tensors[static_cast<size_t>(input)].alias_of;
      const int32_t before = writer[static_cast<size_t>(alias >= 0 ? alias : input)];
      if (before >= 0) step.after.push_back(before);
    }
    std::sort(step.after.begin(), step.after.end());
    step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
    for (const int32_t output : step.outputs) {
      if (output >= 0) writer[static_cast<size_t>(output)] = static_cast<int32_t>(s);
    }
  }
}

// Each weight packed as its step's tactic wants it, in execution order; one copy for equal wishes.
Status pack_weights(EngineContents& contents, const TacticRegistry& registry) {
  PlanProgram& program = contents.programs.front();
  const std::vector<PlanWeight> canonical = std::move(contents.weights);
  contents.weights =
      canonical;  // bind_desc reads the shapes from here while the packed list is made
  std::vector<PlanWeight> packed;
  std::map<std::string, int32_t> made;
  for (PlanStep& step : program.steps) {
    const Tactic* tactic = registry.find(step.tactic);
    if (!tactic) return internal_error("step '{}' has no tactic", step.name);
    STOKER_ASSIGN(Desc desc, bind_desc(contents, program, step, optimum_of(contents)));
    STOKER_TRY(adapt_desc(*tactic, desc).at(step.name));
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      PlanTensor tensor = program.tensors[static_cast<size_t>(step.inputs[i])];
      if (tensor.kind != PlanTensor::Kind::kWeight) continue;
      const auto source = static_cast<size_t>(tensor.weight);
      const Packing packing = desc.inputs[i].packing;
      std::string key = std::to_string(source) + packing_name(packing);
      if (packing != Packing::kNone) {
        // Equal only under equal parameters: transposition and groups shape the packed bytes.
        Desc spec = desc;
        for (TensorDesc& operand : spec.inputs) {
          if (!operand.constant) operand.dims.clear();
        }
        spec.outputs.clear();
        key += desc_key(spec) + std::to_string(i);
      }
      const auto [it, added] = made.try_emplace(key, static_cast<int32_t>(program.tensors.size()));
      step.inputs[i] = it->second;
      if (!added) continue;
      PlanWeight weight = canonical[source];
      weight.packing = packing;
      if (packing != Packing::kNone) {
        STOKER_ASSIGN(weight.bytes,
                      pack_weight(desc, static_cast<int>(i), packing, canonical[source].bytes));
      }
      // Numbered from past the canonical list until that is dropped below.
      tensor.weight = static_cast<int32_t>(canonical.size() + packed.size());
      packed.push_back(weight);
      contents.weights.push_back(std::move(weight));
      program.tensors.push_back(std::move(tensor));
    }
  }
  for (PlanTensor& tensor : program.tensors) {
    if (tensor.kind == PlanTensor::Kind::kWeight)
      tensor.weight -= static_cast<int32_t>(canonical.size());
  }
  contents.weights = std::move(packed);
  return Status::ok();
}

// Canonical weights that nothing reads any more leave the tensor list.
void drop_dead_tensors(PlanProgram& program) {
  std::vector<bool> used(program.tensors.size(), false);
  for (const PlanStep& step : program.steps) {
    for (const auto* ids : {&step.inputs, &step.outputs}) {
      for (const int32_t id : *ids) {
        if (id >= 0) used[static_cast<size_t>(id)] = true;
      }
    }
  }
  for (const auto* ports : {&program.inputs, &program.outputs}) {
    for (const PlanPort& port : *ports) used[static_cast<size_t>(port.tensor)] = true;
  }
  for (size_t t = program.tensors.size(); t-- > 0;) {
    if (used[t] && program.tensors[t].alias_of >= 0)
      used[static_cast<size_t>(program.tensors[t].alias_of)] = true;
  }
  std::vector<int32_t> position(program.tensors.size(), -1);
  std::vector<PlanTensor> kept;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (!used[t]) continue;
    position[t] = static_cast<int32_t>(kept.size());
    kept.push_back(std::move(program.tensors[t]));
  }
  const auto renumber = [&](int32_t& id) {
    if (id >= 0) id = position[static_cast<size_t>(id)];
  };
  for (PlanTensor& tensor : kept) renumber(tensor.alias_of);
  for (PlanStep& step : program.steps) {
    for (int32_t& id : step.inputs) renumber(id);
    for (int32_t& id : step.outputs) renumber(id);
  }
  for (PlanPort& port : program.inputs) renumber(port.tensor);
  for (PlanPort& port : program.outputs) renumber(port.tensor);
  program.tensors = std::move(kept);
}

}  // namespace

Status finish_plan(EngineContents& contents, const TacticRegistry& registry) {
  STOKER_TRY(pack_weights(contents, registry));
  for (PlanProgram& program : contents.programs) {
    drop_dead_tensors(program);
    compute_order(program);
  }
  return Status::ok();
}

}  // namespace stoker
