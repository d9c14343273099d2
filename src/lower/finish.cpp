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
// The packed weights are numbered from past the canonical ones until those are dropped, since
// bind_desc reads shapes from the list.
class WeightPacker {
 public:
  WeightPacker(EngineContents& contents, const TacticRegistry& registry)
      : contents_(contents),
        registry_(registry),
        optimum_(optimum_of(contents)),
        canonical_count_(static_cast<int32_t>(contents.weights.size())) {}

  Status run() {
    for (PlanProgram& program : contents_.programs) {
      tensors_.clear();
      for (PlanStep& step : program.steps) STOKER_TRY(pack(program, step));
      for (PlanPort& port : program.outputs) {
        const PlanTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
        if (tensor.kind != PlanTensor::Kind::kWeight) continue;
        const int32_t weight = plain(tensor.weight);
        port.tensor = tensor_of(program, port.tensor, weight);
      }
    }
    for (PlanProgram& program : contents_.programs) {
      for (PlanTensor& tensor : program.tensors) {
        if (tensor.kind == PlanTensor::Kind::kWeight) tensor.weight -= canonical_count_;
      }
    }
    contents_.weights.erase(contents_.weights.begin(),
                            contents_.weights.begin() + canonical_count_);
    return Status::ok();
  }

 private:
  Status pack(PlanProgram& program, PlanStep& step) {
    const bool reads_weights =
        std::any_of(step.inputs.begin(), step.inputs.end(), [&](int32_t input) {
          return input >= 0 &&
                 program.tensors[static_cast<size_t>(input)].kind == PlanTensor::Kind::kWeight;
        });
    if (!reads_weights) return Status::ok();
    Desc desc;
    const bool chosen = !step.tactic.empty() && program.kind == PlanProgram::Kind::kStatic;
    if (chosen) {
      const Tactic* tactic = registry_.find(step.tactic);
      if (!tactic) return internal_error("step '{}' has no tactic", step.name);
      STOKER_ASSIGN(const TacticOption option, option_of(program, step, tactic));
      desc = option.desc;
    }
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      const PlanTensor& tensor = program.tensors[static_cast<size_t>(step.inputs[i])];
      if (tensor.kind != PlanTensor::Kind::kWeight) continue;
      int32_t weight = 0;
      if (!chosen || desc.inputs[i].packing == Packing::kNone) {
        weight = plain(tensor.weight);
      } else {
        STOKER_ASSIGN(weight, packed(tensor.weight, desc, static_cast<int>(i)));
      }
      step.inputs[i] = tensor_of(program, step.inputs[i], weight);
    }
    return Status::ok();
  }

  // The chosen tactic at the sizes that it was chosen for.
  Result<TacticOption> option_of(const PlanProgram& program, const PlanStep& step,
                                 const Tactic* tactic) const {
    for (TacticOption& option :
         tactic_options(contents_, program, step, optimum_, registry_, true)) {
      if (option.tactic == tactic) return std::move(option);
    }
    return internal_error("step '{}': {} does not take its layouts any more", step.name,
                          tactic->name);
  }

  int32_t add(const std::string& key, int32_t source) {
    const auto id = static_cast<int32_t>(contents_.weights.size());
    made_[key] = id;
    PlanWeight weight = contents_.weights[static_cast<size_t>(source)];
    contents_.weights.push_back(std::move(weight));
    return id;
  }

  int32_t plain(int32_t source) {
    const std::string key = std::to_string(source);
    const auto it = made_.find(key);
    return it != made_.end() ? it->second : add(key, source);
  }

  Result<int32_t> packed(int32_t source, const Desc& desc, int operand) {
    const Packing packing = desc.inputs[static_cast<size_t>(operand)].packing;
    const std::string key = fmt::format("{}/{}", source, packing_key(desc, operand, packing));
    if (const auto it = made_.find(key); it != made_.end()) return it->second;
    const int32_t id = add(key, source);
    PlanWeight& weight = contents_.weights[static_cast<size_t>(id)];
    weight.packing = packing;
    STOKER_ASSIGN(weight.bytes, pack_weight(desc, operand, packing, weight.bytes));
    return id;
  }

  // The program's tensor of a packed weight, a copy of the canonical one's.
  int32_t tensor_of(PlanProgram& program, int32_t canonical, int32_t weight) {
    const auto next = static_cast<int32_t>(program.tensors.size());
    const auto [it, added] = tensors_.try_emplace(weight, next);
    if (added) {
      PlanTensor tensor = program.tensors[static_cast<size_t>(canonical)];
      tensor.weight = weight;
      program.tensors.push_back(std::move(tensor));
    }
    return it->second;
  }

  EngineContents& contents_;
  const TacticRegistry& registry_;
  const SymbolValues optimum_;
  const int32_t canonical_count_;
  std::map<std::string, int32_t> made_;
  std::map<int32_t, int32_t> tensors_;  // of the present program: weight -> tensor
};

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
  STOKER_TRY(WeightPacker(contents, registry).run());
  for (PlanProgram& program : contents.programs) {
    drop_dead_tensors(program);
    if (program.kind == PlanProgram::Kind::kStatic) compute_order(program);
  }
  return Status::ok();
}

}  // namespace stoker
