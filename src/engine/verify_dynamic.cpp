// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/status.h"
#include "engine/verify_internal.h"

namespace stoker::engine {
namespace {

using Kind = PlanTensor::Kind;

// How many operands a step shares with its sub-programs' ports.
struct Ports {
  int64_t programs, inputs, outputs;
};

// A step passes all but `hidden` of its operands to sub-programs that have `own_inputs` ports
// beside them; `own_outputs` ports of theirs are not the step's outputs.
Result<Ports> expected_ports(const PlanStep& step) {
  const auto& op = std::get<FallbackParams>(step.params);
  const auto inputs = static_cast<int64_t>(step.inputs.size()),
             outputs = static_cast<int64_t>(step.outputs.size());
  const auto count = [&](const char* name) { return op.attributes.get_int(name, -1); };
  if (op.op == kCallOp) return Ports{1, inputs, outputs};
  if (op.op == "if" && inputs >= 1) return Ports{2, inputs - 1, outputs};
  if (op.op == "loop") {
    const int64_t carried = count("carried");
    if (carried < 0 || carried > inputs - 2 || carried > outputs)
      return corrupt_file("loop: {} carried values of {} operands", carried, inputs);
    return Ports{1, inputs, outputs + 1};
  }
  if (op.op == "scan") {
    const int64_t carried = count("carried"), scanned = count("scanned");
    const int64_t lengths = op.attributes.get_int("batched") != 0;
    if (carried < 0 || scanned < 1 || carried > outputs || scanned > inputs ||
        carried > inputs - lengths - scanned) {
      return corrupt_file("scan: {} carried and {} scanned values of {} operands", carried, scanned,
                          inputs);
    }
    return Ports{1, inputs - lengths, outputs};
  }
  if (op.op == "sequence_map") {
    const int64_t mapped = count("mapped");
    if (mapped < 0 || mapped > inputs - 1)
      return corrupt_file("sequence_map: {} mapped values of {} operands", mapped, inputs);
    return Ports{1, inputs, outputs};
  }
  return corrupt_file("the op '{}' does not run sub-programs", op.op);
}

Status check_subprograms(const EngineContents& contents, const PlanStep& step) {
  STOKER_ASSIGN(const Ports expected, expected_ports(step));
  if (static_cast<int64_t>(step.subprograms.size()) != expected.programs) {
    return corrupt_file("runs {} sub-programs, expected {}", step.subprograms.size(),
                        expected.programs);
  }
  for (const int32_t index : step.subprograms) {
    if (index < 0 || static_cast<size_t>(index) >= contents.programs.size()) {
      return corrupt_file("runs program {} of {}", index, contents.programs.size());
    }
    const PlanProgram& program = contents.programs[static_cast<size_t>(index)];
    if (static_cast<int64_t>(program.inputs.size()) != expected.inputs ||
        static_cast<int64_t>(program.outputs.size()) != expected.outputs) {
      return corrupt_file("passes {} and takes {} values, program {} has {} and {}",
                          expected.inputs, expected.outputs, program.name, program.inputs.size(),
                          program.outputs.size());
    }
  }
  return Status::ok();
}

class DynamicVerifier {
 public:
  DynamicVerifier(const EngineContents& contents, const PlanProgram& program)
      : contents_(contents), program_(program), known_(program.tensors.size(), false) {}

  Status run() {
    for (size_t i = 0; i < known_.size(); ++i) {
      const PlanTensor& tensor = program_.tensors[i];
      known_[i] = tensor.kind == Kind::kWeight || tensor.kind == Kind::kShapeValue;
      if (tensor.kind == Kind::kWeight &&
          contents_.weights[static_cast<size_t>(tensor.weight)].packing != Packing::kNone) {
        return corrupt_file("tensor {} is a packed weight, in a dynamic program", tensor.name);
      }
    }
    STOKER_TRY(check_inputs());
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      STOKER_TRY(
          check_step(program_.steps[i]).at(fmt::format("step {} {}", i, program_.steps[i].name)));
    }
    return check_outputs();
  }

 private:
  bool in_range(int32_t index) const {
    return index >= 0 && static_cast<size_t>(index) < known_.size();
  }

  Status check_inputs() {
    std::set<std::string> names;
    for (const PlanPort& port : program_.inputs) {
      if (!in_range(port.tensor) || known_[static_cast<size_t>(port.tensor)] ||
          program_.tensors[static_cast<size_t>(port.tensor)].kind != Kind::kInput ||
          !names.insert(port.name).second) {
        return corrupt_file(
            "input '{}' stands twice or names tensor {}, which is no input of its "
            "own",
            port.name, port.tensor);
      }
      known_[static_cast<size_t>(port.tensor)] = true;
    }
    return Status::ok();
  }

  Status check_step(const PlanStep& step) {
    if (!std::holds_alternative<FallbackParams>(step.params) || !step.param_dims.empty())
      return corrupt_file("is no fallback, in a dynamic program");
    for (const int32_t input : step.inputs) {
      if (input != -1 && (!in_range(input) || !known_[static_cast<size_t>(input)]))
        return corrupt_file("reads tensor {}, which nothing has written", input);
    }
    if (!step.subprograms.empty()) STOKER_TRY(check_subprograms(contents_, step));
    for (const int32_t output : step.outputs) {
      if (output == -1) continue;
      if (!in_range(output) || known_[static_cast<size_t>(output)] ||
          program_.tensors[static_cast<size_t>(output)].kind != Kind::kTemporary) {
        return corrupt_file("writes tensor {}, which is not its to write", output);
      }
      known_[static_cast<size_t>(output)] = true;
    }
    return Status::ok();
  }

  Status check_outputs() {
    std::set<std::string> names;
    for (const PlanPort& port : program_.outputs) {
      if (!in_range(port.tensor) || !known_[static_cast<size_t>(port.tensor)] ||
          !names.insert(port.name).second) {
        return corrupt_file("output '{}' stands twice or is never written", port.name);
      }
    }
    if (!program_.states.empty()) return corrupt_file("has states, in a dynamic program");
    return Status::ok();
  }

  const EngineContents& contents_;
  const PlanProgram& program_;
  std::vector<bool> known_;
};

}  // namespace

Status verify_dynamic(const EngineContents& contents, const PlanProgram& program) {
  return DynamicVerifier(contents, program).run();
}

}  // namespace stoker::engine
