// Interpreter: runs dynamic programs step by step on values of any kind. Static programs inside are
// bound for the sizes at hand and run by executors; control flow runs programs again and again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "ops/op.h"

#include "runtime/executor.h"
#include "runtime/loaded_engine.h"

namespace stoker {

// The state of one caller: executors and their arenas, counts of random draws. Not thread-safe.
// Outputs are newly allocated by each run.
class Interpreter {
 public:
  explicit Interpreter(LoadedEngine& engine);

  // Runs the main program on values, one per port. An error names the step.
  Result<std::vector<AnyValue>> run(std::vector<AnyValue> inputs);

  // Later runs tell the observer of every step; null: none.
  void observe(RunObserver* observer) { observer_ = observer; }

  void enable_profile(bool on);
  std::vector<StepProfile> profile() const;  // of the steps that have run since enabling
  std::vector<TraceEvent> trace() const;     // of the last run
  int64_t arena_bytes() const;               // of the executors at their present sizes
  int64_t worker_bytes() const;

 private:
  // Values of a program while it runs.
  struct Frame {
    int32_t program = 0;
    std::vector<AnyValue> values;  // by tensor
    SymbolValues symbols;
  };
  struct Totals {
    double ns = 0;
    int64_t runs = 0;
  };
  using Values = std::vector<AnyValue>;

  Result<Values> run_program(int32_t program, Values inputs, const SymbolValues& outer);
  Result<Values> run_static(int32_t program, const Values& inputs, const SymbolValues& symbols);
  Result<Values> run_dynamic(Frame& frame);
  Result<Values> run_step(const PlanStep& step, Values operands, const SymbolValues& symbols);
  Result<AnyValue> value_of(Frame& frame, int32_t tensor);
  Status store(Frame& frame, int32_t tensor, AnyValue value);
  Status enter(Frame& frame, const Values& inputs);
  Result<Executor*> executor_for(int32_t program, std::shared_ptr<const BoundProgram> bound);
  void keep_profile(int32_t program);
  RandomKey draw(const PlanStep& step);

  // Control flow, in control_flow.cpp.
  Result<Values> run_if(const PlanStep& step, Values operands, const SymbolValues& symbols);
  Result<Values> run_loop(const PlanStep& step, Values operands, const SymbolValues& symbols);
  Result<Values> run_scan(const PlanStep& step, Values operands, const SymbolValues& symbols);
  Result<Values> run_scan_once(const PlanStep& step, const Values& operands, int64_t length,
                               const SymbolValues& symbols);
  Result<Values> run_batched_scan(const PlanStep& step, Values operands,
                                  const SymbolValues& symbols);
  Result<Values> run_sequence_map(const PlanStep& step, Values operands,
                                  const SymbolValues& symbols);

  LoadedEngine& engine_;
  std::vector<std::unique_ptr<Executor>> executors_;  // by program
  std::unordered_map<const PlanStep*, uint64_t> draws_;
  RunObserver* observer_ = nullptr;
  bool profile_ = false;
  std::map<std::pair<int32_t, size_t>, Totals> totals_;  // by program and step
  std::vector<TraceEvent> trace_;
};

// The events of an executor's last run, by the clock.
std::vector<TraceEvent> trace_of(const Executor& executor, int program);
// Sorts and lets the first event begin at 0.
void start_at_zero(std::vector<TraceEvent>& events);

}  // namespace stoker
