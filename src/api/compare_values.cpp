// SPDX-License-Identifier: Apache-2.0
#include "api/compare_values.h"

#include <algorithm>
#include <set>

#include "api/explain_parts.h"

namespace stoker {
ValueTable::ValueTable(const LoadedEngine& engine)
    : contents_(engine.contents()),
      sources_(contents_.programs.size()),
      callers_(contents_.programs.size()) {
  enter(0, "");
}

const PlanStep& ValueTable::step(const MadeValue& value) const {
  return program(value.program).steps[static_cast<size_t>(value.step)];
}

const PlanTensor& ValueTable::tensor(const MadeValue& value) const {
  return program(value.program).tensors[static_cast<size_t>(value.tensor)];
}

// A program is entered once, from the first step that runs it; the verifier limits the depth.
void ValueTable::enter(int32_t index, const std::string& scope) {
  std::vector<Source>& sources = sources_[static_cast<size_t>(index)];
  const PlanProgram& plan = program(index);
  if (!sources.empty() || plan.tensors.empty()) return;
  sources.resize(plan.tensors.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      if (step.outputs[o] >= 0)
        sources[static_cast<size_t>(step.outputs[o])] = {static_cast<int32_t>(s), o};
    }
    for (size_t i = 0; i < step.subprograms.size(); ++i) {
      const int32_t called = step.subprograms[i];
      if (is_call(step)) {
        callers_[static_cast<size_t>(called)] = {index, static_cast<int32_t>(s)};
        enter(called, scope);
      } else {
        const std::string branch = step.subprograms.size() > 1 ? fmt::format("#{}", i) : "";
        enter(called, fmt::format("{}{}{}/", scope, step.name, branch));
      }
    }
  }
  for (size_t t = 0; t < plan.tensors.size(); ++t) add_value(index, static_cast<int32_t>(t), scope);
}

void ValueTable::add_value(int32_t index, int32_t tensor, const std::string& scope) {
  const PlanProgram& plan = program(index);
  int32_t root = tensor;
  const auto at = [&](int32_t t) -> const PlanTensor& {
    return plan.tensors[static_cast<size_t>(t)];
  };
  const auto source_of = [&](int32_t t) {
    return sources_[static_cast<size_t>(index)][static_cast<size_t>(t)];
  };
  while (source_of(root).step < 0 && at(root).alias_of >= 0) root = at(root).alias_of;
  const Source source = source_of(root);
  if (source.step < 0) return;
  const PlanStep& step = plan.steps[static_cast<size_t>(source.step)];
  // What a `call` gives is made by a step of the program that it runs.
  if (is_call(step)) return;
  // A copy in front of an output stands for no node, and is the output all the same.
  const bool output = index == 0 && at(tensor).kind == PlanTensor::Kind::kOutput;
  if (step.origins.empty() && !output) return;
  // Reshaping a blocked tensor would be no plain view of its bytes.
  if (root != tensor && at(root).layout != Layout::kPlain) return;
  const std::string name = scope + at(tensor).name;
  const bool added =
      values_.emplace(name, MadeValue{index, source.step, source.output, tensor, root == tensor})
          .second;
  if (added) names_[{index, tensor}] = name;
}

std::vector<ValueTable::Position> ValueTable::parents_of(const Position& position) const {
  const PlanProgram& plan = program(position.program);
  const PlanTensor& tensor = plan.tensors[static_cast<size_t>(position.index)];
  const Source source =
      sources_[static_cast<size_t>(position.program)][static_cast<size_t>(position.index)];
  std::vector<Position> parents;
  if (source.step >= 0) {
    const PlanStep& step = plan.steps[static_cast<size_t>(source.step)];
    if (is_call(step)) {
      const int32_t called = step.subprograms[0];
      parents.push_back({called, program(called).outputs[source.output].tensor});
      return parents;
    }
    for (const int32_t input : step.inputs) {
      if (input >= 0) parents.push_back({position.program, input});
    }
    return parents;
  }
  if (tensor.alias_of >= 0) parents.push_back({position.program, tensor.alias_of});
  const Position& caller = callers_[static_cast<size_t>(position.program)];
  if (tensor.kind != PlanTensor::Kind::kInput || caller.program < 0) return parents;
  const PlanStep& call = program(caller.program).steps[static_cast<size_t>(caller.index)];
  for (size_t i = 0; i < plan.inputs.size() && i < call.inputs.size(); ++i) {
    if (plan.inputs[i].tensor == position.index && call.inputs[i] >= 0)
      parents.push_back({caller.program, call.inputs[i]});
  }
  return parents;
}

ValueTable::Ancestry ValueTable::ancestry(
    const MadeValue& value, const std::function<bool(const std::string&)>& stops) const {
  Ancestry result;
  const Position self{value.program, value.tensor};
  std::vector<Position> open{self};
  std::set<Position> seen{self};
  std::set<std::string> nodes;
  while (!open.empty()) {
    const Position position = open.back();
    open.pop_back();
    const auto name = names_.find(position);
    if (position != self && name != names_.end() && stops(name->second)) {
      result.values.push_back(name->second);
      continue;
    }
    const Source source =
        sources_[static_cast<size_t>(position.program)][static_cast<size_t>(position.index)];
    if (source.step >= 0) {
      const PlanStep& step = program(position.program).steps[static_cast<size_t>(source.step)];
      for (const std::string& node : step.origins) {
        if (nodes.insert(node).second) result.nodes.push_back(node);
      }
    }
    for (const Position& parent : parents_of(position)) {
      if (seen.insert(parent).second) open.push_back(parent);
    }
  }
  return result;
}

}  // namespace stoker
