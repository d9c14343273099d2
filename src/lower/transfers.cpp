// Copies between places.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lower/emit.h"

namespace stoker {
namespace {

class Transfers {
 public:
  explicit Transfers(PlanProgram& program) : program_(program) {}

  void run() {
    std::vector<PlanStep> steps;
    std::vector<PlanStep> last;
    for (const PlanPort& port : program_.inputs) {
      const int32_t moved = twin(port.tensor, PlanTensor::Kind::kTemporary);
      at(port.tensor).place = {};
      redirect_reads(port.tensor, moved);
      steps.push_back(copy(port.tensor, moved, at(moved).place));
    }
    for (PlanPort& port : program_.outputs) {
      const int32_t made = twin(port.tensor, PlanTensor::Kind::kTemporary);
      redirect_reads(port.tensor, made);
      for (PlanStep& step : program_.steps)
        std::replace(step.outputs.begin(), step.outputs.end(), port.tensor, made);
      at(port.tensor).place = {};
      last.push_back(copy(made, port.tensor, {}));
    }
    std::move(program_.steps.begin(), program_.steps.end(), std::back_inserter(steps));
    std::move(last.begin(), last.end(), std::back_inserter(steps));
    program_.steps = std::move(steps);
  }

 private:
  PlanTensor& at(int32_t id) { return program_.tensors[static_cast<size_t>(id)]; }

  int32_t twin(int32_t tensor, PlanTensor::Kind kind) {
    PlanTensor copy = at(tensor);
    copy.name += "." + place_text(copy.place);
    copy.kind = kind;
    program_.tensors.push_back(std::move(copy));
    return static_cast<int32_t>(program_.tensors.size()) - 1;
  }

  void redirect_reads(int32_t from, int32_t to) {
    for (PlanStep& step : program_.steps)
      std::replace(step.inputs.begin(), step.inputs.end(), from, to);
    for (PlanTensor& tensor : program_.tensors) {
      if (tensor.alias_of == from) tensor.alias_of = to;
    }
  }

  PlanStep copy(int32_t from, int32_t to, Place place) {
    PlanStep step;
    step.name = "move_" + at(to).name;
    step.place = place;
    step.inputs = {from};
    step.outputs = {to};
    step.params = whole_copy(at(to));
    return step;
  }

  PlanProgram& program_;
};

}  // namespace

void insert_transfers(EngineContents& contents) {
  for (PlanProgram& program : contents.programs) {
    bool away = false;
    for (const PlanStep& step : program.steps) away |= !(step.place == Place{});
    if (away) Transfers(program).run();
  }
}

}  // namespace stoker
