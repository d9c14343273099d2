// Data flow of one program. Tensors that share memory form a storage; a storage is written by one
// step at most, which must have finished before any reader starts, whatever the workers' speed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/verify_internal.h"

namespace stoker::engine {
namespace {

using Kind = PlanTensor::Kind;

constexpr int64_t kSearchBudget = 100'000'000;  // edges looked at per program

class OrderVerifier {
 public:
  explicit OrderVerifier(const PlanProgram& program)
      : program_(program),
        count_(program.tensors.size()),
        storage_(count_),
        final_(count_),
        writer_(count_, -1),
        output_(count_, -1),
        seen_(program.steps.size(), -1) {}

  Status run() {
    STOKER_TRY(check_states());
    join_storages();
    STOKER_TRY(check_inputs());
    STOKER_TRY(check_storages());
    STOKER_TRY(collect_writers());
    STOKER_TRY(check_readers());
    return check_outputs();
  }

 private:
  const PlanTensor& tensor(int32_t index) const {
    return program_.tensors[static_cast<size_t>(index)];
  }
  size_t storage(int32_t index) const { return storage_[static_cast<size_t>(index)]; }
  bool in_range(int32_t index) const { return index >= 0 && static_cast<size_t>(index) < count_; }
  std::string step_text(int64_t index) const {
    return fmt::format("step {} {}", index, program_.steps[static_cast<size_t>(index)].name);
  }

  Status check_states() {
    std::vector<bool> used(count_);
    for (const PlanState& state : program_.states) {
      if (!in_range(state.initial) || !in_range(state.final_value) ||
          tensor(state.initial).kind != Kind::kState ||
          tensor(state.final_value).kind != Kind::kState || tensor(state.initial).alias_of != -1) {
        return corrupt_file("state {} names tensors {} and {}, which are not states", state.name,
                            state.initial, state.final_value);
      }
      const PlanTensor& from = tensor(state.initial);
      const PlanTensor& to = tensor(state.final_value);
      if (from.dtype != to.dtype || from.dims != to.dims) {
        return corrupt_file("state {} changes from {}{} to {}{}", state.name,
                            dtype_name(from.dtype), dims_text(from.dims), dtype_name(to.dtype),
                            dims_text(to.dims));
      }
      if (used[static_cast<size_t>(state.initial)] ||
          used[static_cast<size_t>(state.final_value)]) {
        return corrupt_file("state {} shares a tensor with another state", state.name);
      }
      used[static_cast<size_t>(state.initial)] = used[static_cast<size_t>(state.final_value)] =
          true;
    }
    for (size_t i = 0; i < count_; ++i) {
      const PlanTensor& t = program_.tensors[i];
      if (t.kind == Kind::kState && t.alias_of == -1 && !used[i]) {
        return corrupt_file("tensor {} is a state that the program does not list", t.name);
      }
    }
    return Status::ok();
  }

  // Aliases point to earlier tensors, so one pass finds the roots. A state's final value lies where
  // its initial one does.
  void join_storages() {
    std::vector<int32_t> initial_of(count_, -1);
    for (const PlanState& state : program_.states) {
      if (state.final_value != state.initial)
        initial_of[static_cast<size_t>(state.final_value)] = state.initial;
    }
    for (size_t i = 0; i < count_; ++i) {
      const int32_t alias = program_.tensors[i].alias_of;
      storage_[i] = alias < 0 ? i : storage_[static_cast<size_t>(alias)];
      final_[i] = alias >= 0 && final_[static_cast<size_t>(alias)];
      if (initial_of[i] >= 0) final_[i] = true;
    }
    for (size_t i = 0; i < count_; ++i) {
      const size_t root = storage_[i];
      if (initial_of[root] >= 0) storage_[i] = static_cast<size_t>(initial_of[root]);
    }
  }

  Status check_inputs() {
    std::vector<bool> fed(count_);
    for (const PlanPort& port : program_.inputs) {
      if (!in_range(port.tensor) || tensor(port.tensor).kind != Kind::kInput ||
          fed[static_cast<size_t>(port.tensor)]) {
        return corrupt_file("input {} names tensor {}, expected an input tensor of its own",
                            port.name, port.tensor);
      }
      fed[static_cast<size_t>(port.tensor)] = true;
    }
    for (size_t i = 0; i < count_; ++i) {
      if (program_.tensors[i].kind == Kind::kInput && !fed[i]) {
        return corrupt_file("tensor {} is an input that the program does not list",
                            program_.tensors[i].name);
      }
    }
    return Status::ok();
  }

  // A storage that the caller gives as an output is written by a step and is given once.
  Status check_storages() {
    for (size_t i = 0; i < count_; ++i) {
      if (program_.tensors[i].kind != Kind::kOutput) continue;
      const size_t root = storage_[i];
      const Kind kind = program_.tensors[root].kind;
      if ((kind != Kind::kTemporary && kind != Kind::kOutput) || output_[root] >= 0) {
        return corrupt_file(
            "output tensor {} shares memory with another output or with what no step writes",
            program_.tensors[i].name);
      }
      output_[root] = static_cast<int32_t>(i);
    }
    return Status::ok();
  }

  Status collect_writers() {
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const int32_t output : program_.steps[s].outputs) {
        if (output < 0) continue;
        const size_t root = storage(output);
        const Kind kind = program_.tensors[root].kind;
        const bool state = kind == Kind::kState && final_[static_cast<size_t>(output)];
        if (kind != Kind::kTemporary && kind != Kind::kOutput && !state) {
          return corrupt_file("{} writes {}, which is not a step's to write",
                              step_text(static_cast<int64_t>(s)), tensor(output).name);
        }
        if (writer_[root] >= 0) {
          return corrupt_file("{} writes the memory of {}, which {} has written",
                              step_text(static_cast<int64_t>(s)), tensor(output).name,
                              step_text(writer_[root]));
        }
        writer_[root] = static_cast<int32_t>(s);
      }
    }
    return Status::ok();
  }

  Status check_readers() {
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const int32_t input : program_.steps[s].inputs) {
        if (input >= 0) STOKER_TRY(check_read(static_cast<int32_t>(s), input));
      }
    }
    return Status::ok();
  }

  Status check_read(int32_t step, int32_t input) {
    const size_t root = storage(input);
    const Kind kind = program_.tensors[root].kind;
    if (kind == Kind::kInput || kind == Kind::kWeight || kind == Kind::kShapeValue)
      return Status::ok();
    const int32_t writer = writer_[root];
    const bool before_writer = kind == Kind::kState && !final_[static_cast<size_t>(input)];
    if (before_writer) {
      // A step may update a state in place itself.
      if (writer < 0 || writer == step) return Status::ok();
      return expect_order(step, writer, input);
    }
    if (writer < 0 || writer >= step) {
      return corrupt_file("{} reads {} before it is written", step_text(step), tensor(input).name);
    }
    return expect_order(writer, step, input);
  }

  Status expect_order(int32_t first, int32_t second, int32_t input) {
    if (first < second && reaches(second, first)) return Status::ok();
    if (budget_ < 0) return corrupt_file("the order of the steps is too indirect to be proved");
    return corrupt_file("{} must finish before {} because of {}, but the order does not say so",
                        step_text(first), step_text(second), tensor(input).name);
  }

  // Is `target` an ancestor of `from`? Direct predecessors first: nearly every question ends there.
  bool reaches(int32_t from, int32_t target) {
    const auto& direct = program_.steps[static_cast<size_t>(from)].after;
    if (std::find(direct.begin(), direct.end(), target) != direct.end()) return true;
    ++stamp_;
    std::vector<int32_t> open{from};
    while (!open.empty()) {
      const int32_t step = open.back();
      open.pop_back();
      for (const int32_t earlier : program_.steps[static_cast<size_t>(step)].after) {
        if (--budget_ < 0) return false;
        if (earlier == target) return true;
        if (earlier < target || seen_[static_cast<size_t>(earlier)] == stamp_) continue;
        seen_[static_cast<size_t>(earlier)] = stamp_;
        open.push_back(earlier);
      }
    }
    return false;
  }

  // Callers know ports by name: two of one name would share the caller's tensor.
  static Status check_names(const std::vector<PlanPort>& ports, const char* what) {
    std::set<std::string> names;
    for (const PlanPort& port : ports) {
      if (!names.insert(port.name).second)
        return corrupt_file("{} '{}' stands twice", what, port.name);
    }
    return Status::ok();
  }

  Status check_outputs() {
    STOKER_TRY(check_names(program_.inputs, "input"));
    STOKER_TRY(check_names(program_.outputs, "output"));
    std::vector<bool> given(count_);
    for (const PlanPort& port : program_.outputs) {
      if (!in_range(port.tensor))
        return corrupt_file("output {} names tensor {} of {}", port.name, port.tensor, count_);
      const PlanTensor& t = tensor(port.tensor);
      if (t.kind != Kind::kOutput) {
        return corrupt_file("output {} names {}, which is not an output tensor", port.name, t.name);
      }
      if (given[static_cast<size_t>(port.tensor)])
        return corrupt_file("two outputs name {}", t.name);
      given[static_cast<size_t>(port.tensor)] = true;
      if (writer_[storage(port.tensor)] < 0)
        return corrupt_file("output {} is never written", port.name);
    }
    for (size_t i = 0; i < count_; ++i) {
      if (program_.tensors[i].kind == Kind::kOutput && !given[i]) {
        return corrupt_file("tensor {} is an output that the program does not list",
                            program_.tensors[i].name);
      }
    }
    return Status::ok();
  }

  const PlanProgram& program_;
  const size_t count_;
  std::vector<size_t> storage_;  // per tensor: the tensor whose memory it lies in
  std::vector<bool> final_;      // per tensor: the final value of a state, or an alias of it
  std::vector<int32_t> writer_;  // per storage
  std::vector<int32_t> output_;  // per storage: its output tensor
  std::vector<int32_t> seen_;    // per step: stamp of the last search
  int32_t stamp_ = 0;
  int64_t budget_ = kSearchBudget;
};

}  // namespace

Status verify_order(const PlanProgram& program) { return OrderVerifier(program).run(); }

}  // namespace stoker::engine
