// SPDX-License-Identifier: Apache-2.0
#include "runtime/interpreter.h"

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/numeric.h"

namespace stoker {
namespace {

// A loop may run millions of steps.
constexpr size_t kMaxTraceEvents = 200'000;

// The tensor of a shape value.
Result<Tensor> evaluate_elements(const PlanTensor& tensor, const SymbolValues& symbols) {
  STOKER_ASSIGN(Shape shape, evaluate_dims(tensor.dims, symbols));
  STOKER_ASSIGN(Tensor result, Tensor::allocate(tensor.dtype, std::move(shape)));
  if (result.count() != static_cast<int64_t>(tensor.elements.size())) {
    return corrupt_file("shape value '{}' has {} elements for shape {}", tensor.name,
                        tensor.elements.size(), shape_text(result.shape()));
  }
  const StoreInt store = store_int(tensor.dtype);
  for (size_t i = 0; i < tensor.elements.size(); ++i) {
    STOKER_ASSIGN(const int64_t element, tensor.elements[i].evaluate(symbols));
    store(result.data(), static_cast<int64_t>(i), element);
  }
  return result;
}

}  // namespace

Interpreter::Interpreter(LoadedEngine& engine)
    : engine_(engine), executors_(engine.contents().programs.size()) {}

Result<std::vector<AnyValue>> Interpreter::run(std::vector<AnyValue> inputs) {
  trace_.clear();
  return run_program(0, std::move(inputs), {});
}

std::vector<TraceEvent> trace_of(const Executor& executor, int program) {
  std::vector<TraceEvent> events;
  for (const Executor::Event& event : executor.events()) {
    const BoundStep& step = executor.bound().steps[static_cast<size_t>(event.step)];
    events.push_back({step.step->name, program, event.step, event.worker, event.phase,
                      event.start_ns / 1e3, (event.end_ns - event.start_ns) / 1e3});
  }
  return events;
}

void start_at_zero(std::vector<TraceEvent>& events) {
  std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return a.start_us < b.start_us;
  });
  const double first = events.empty() ? 0 : events[0].start_us;
  for (TraceEvent& event : events) event.start_us -= first;
}

Result<Interpreter::Values> Interpreter::run_program(int32_t program, Values inputs,
                                                     const SymbolValues& outer) {
  Frame frame{program, {}, engine_.needed(program, outer)};
  STOKER_TRY(enter(frame, inputs));
  if (engine_.program(program).kind == PlanProgram::Kind::kStatic)
    return run_static(program, inputs, frame.symbols);
  frame.values.resize(engine_.program(program).tensors.size());
  const PlanProgram& plan = engine_.program(program);
  for (size_t i = 0; i < inputs.size(); ++i)
    frame.values[static_cast<size_t>(plan.inputs[i].tensor)] = std::move(inputs[i]);
  return run_dynamic(frame);
}

// Checks the inputs and takes the sizes that they name. Sizes that only this program's inputs name
// are its own: a loop body's differ from one iteration to the next.
Status Interpreter::enter(Frame& frame, const Values& inputs) {
  const PlanProgram& program = engine_.program(frame.program);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(program.inputs[i].tensor)];
    if (tensor.holds != PlanTensor::Holds::kTensor) continue;
    const std::string& name = program.inputs[i].name;
    if (!inputs[i].is_tensor()) return invalid_argument("input '{}' holds no tensor", name);
    const Tensor& given = inputs[i].tensor();
    if (given.dtype() != tensor.dtype) {
      return invalid_argument("input '{}' is {}, expected {}", name, dtype_name(given.dtype()),
                              dtype_name(tensor.dtype));
    }
    if (!tensor.ranked) continue;
    if (given.shape().size() != tensor.dims.size()) {
      return invalid_argument("input '{}' has shape {}, expected {}", name,
                              shape_text(given.shape()), dims_text(tensor.dims));
    }
    learn_symbols(tensor.dims, given.shape(), frame.symbols);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(program.inputs[i].tensor)];
    if (tensor.holds != PlanTensor::Holds::kTensor || !tensor.ranked) continue;
    STOKER_TRY(check_shape("input", program.inputs[i].name, tensor.dims, inputs[i].tensor().shape(),
                           frame.symbols));
  }
  return check_ranges(engine_.ranges(frame.program), frame.symbols);
}

Result<Executor*> Interpreter::executor_for(int32_t program,
                                            std::shared_ptr<const BoundProgram> bound) {
  auto& slot = executors_[static_cast<size_t>(program)];
  if (slot && &slot->bound() == bound.get()) return slot.get();
  keep_profile(program);
  STOKER_ASSIGN(slot, Executor::create(std::move(bound), engine_.options().flush_denormals));
  slot->enable_profile(profile_);
  return slot.get();
}

Result<Interpreter::Values> Interpreter::run_static(int32_t program, const Values& inputs,
                                                    const SymbolValues& symbols) {
  STOKER_ASSIGN(auto bound, engine_.bind(program, symbols));
  STOKER_ASSIGN(Executor* const executor, executor_for(program, std::move(bound)));
  for (size_t i = 0; i < inputs.size(); ++i) executor->set_input(i, inputs[i].tensor().data());
  Values outputs;
  const PlanProgram& plan = engine_.program(program);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const TensorDesc& desc =
        executor->bound().tensors[static_cast<size_t>(plan.outputs[i].tensor)].desc;
    STOKER_ASSIGN(Tensor tensor, Tensor::allocate(desc.dtype, desc.dims));
    executor->set_output(i, tensor.data());
    outputs.emplace_back(std::move(tensor));
  }
  STOKER_TRY(observer_ ? executor->run_observed(*observer_, program)
                       : executor->run(engine_.pool()));
  if (profile_ && trace_.size() < kMaxTraceEvents) {
    const std::vector<TraceEvent> events = trace_of(*executor, program);
    trace_.insert(trace_.end(), events.begin(), events.end());
  }
  return outputs;
}

Result<AnyValue> Interpreter::value_of(Frame& frame, int32_t tensor) {
  if (tensor < 0) return AnyValue();
  const PlanTensor& plan = engine_.program(frame.program).tensors[static_cast<size_t>(tensor)];
  if (plan.kind == PlanTensor::Kind::kWeight)
    return AnyValue(engine_.contents().weights[static_cast<size_t>(plan.weight)].bytes);
  if (plan.kind == PlanTensor::Kind::kShapeValue) {
    STOKER_ASSIGN(Tensor elements, evaluate_elements(plan, frame.symbols));
    return AnyValue(std::move(elements));
  }
  return frame.values[static_cast<size_t>(tensor)];
}

// Keeps a step's output, after checking it against what the plan says and learning its sizes.
Status Interpreter::store(Frame& frame, int32_t tensor, AnyValue value) {
  const PlanTensor& plan = engine_.program(frame.program).tensors[static_cast<size_t>(tensor)];
  if (plan.holds == PlanTensor::Holds::kTensor && value.is_tensor()) {
    const Tensor& given = value.tensor();
    if (given.dtype() != plan.dtype || (plan.ranked && given.shape().size() != plan.dims.size())) {
      return internal_error("'{}' came out as {}{}, expected {}{}", plan.name,
                            dtype_name(given.dtype()), shape_text(given.shape()),
                            dtype_name(plan.dtype), plan.ranked ? dims_text(plan.dims) : "[?]");
    }
    if (plan.ranked) {
      learn_symbols(plan.dims, given.shape(), frame.symbols);
      STOKER_TRY(check_shape("value", plan.name, plan.dims, given.shape(), frame.symbols));
    }
  } else if (plan.holds == PlanTensor::Holds::kTensor) {
    return internal_error("'{}' came out as no tensor", plan.name);
  }
  frame.values[static_cast<size_t>(tensor)] = std::move(value);
  return Status::ok();
}

Result<Interpreter::Values> Interpreter::run_dynamic(Frame& frame) {
  const int32_t index = frame.program;
  const PlanProgram& program = engine_.program(index);
  const std::vector<int32_t>& last_uses = engine_.last_uses(index);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const PlanStep& step = program.steps[s];
    Values operands;
    for (const int32_t input : step.inputs) {
      STOKER_ASSIGN(AnyValue operand, value_of(frame, input));
      operands.push_back(std::move(operand));
    }
    for (const int32_t input : step.inputs) {
      if (input >= 0 && last_uses[static_cast<size_t>(input)] == static_cast<int32_t>(s))
        frame.values[static_cast<size_t>(input)] = AnyValue();
    }
    const double start = profile_ ? now_ns() : 0;
    auto outputs = run_step(step, std::move(operands), frame.symbols);
    if (profile_ && step.subprograms.empty()) {
      const double spent = now_ns() - start;
      Totals& totals = totals_[{index, s}];
      totals.ns += spent;
      ++totals.runs;
      if (trace_.size() < kMaxTraceEvents)
        trace_.push_back({step.name, index, static_cast<int>(s), 0, 0, start / 1e3, spent / 1e3});
    }
    if (!outputs) return outputs.status().at(step.name);
    if (outputs->size() != step.outputs.size())
      return internal_error("step '{}' gave {} values", step.name, outputs->size());
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const int32_t output = step.outputs[i];
      if (output < 0) continue;
      if (observer_) observer_->after_value(index, static_cast<int32_t>(s), i, (*outputs)[i]);
      STOKER_TRY(store(frame, output, std::move((*outputs)[i])).at(step.name));
      // Nothing reads it.
      if (last_uses[static_cast<size_t>(output)] < 0)
        frame.values[static_cast<size_t>(output)] = AnyValue();
    }
  }
  Values results;
  for (const PlanPort& port : program.outputs) {
    STOKER_ASSIGN(AnyValue result, value_of(frame, port.tensor));
    results.push_back(std::move(result));
  }
  return results;
}

Result<Interpreter::Values> Interpreter::run_step(const PlanStep& step, Values operands,
                                                  const SymbolValues& symbols) {
  const auto& op = std::get<FallbackParams>(step.params);
  if (!step.subprograms.empty()) {
    if (op.op == kCallOp) return run_program(step.subprograms[0], std::move(operands), symbols);
    if (op.op == "if") return run_if(step, std::move(operands), symbols);
    if (op.op == "loop") return run_loop(step, std::move(operands), symbols);
    if (op.op == "scan") return run_scan(step, std::move(operands), symbols);
    return run_sequence_map(step, std::move(operands), symbols);
  }
  const Op* known = find_op(op.op);
  if (!known) return unsupported("there is no op '{}'", op.op);
  return evaluate_op_values(*known, op.attributes, operands, static_cast<int>(step.outputs.size()),
                            known->deterministic ? RandomKey{} : draw(step));
}

RandomKey Interpreter::draw(const PlanStep& step) {
  return {hash64(std::as_bytes(std::span(step.name))), draws_[&step]++};
}

void Interpreter::enable_profile(bool on) {
  profile_ = on;
  totals_.clear();
  for (auto& executor : executors_) {
    if (executor) executor->enable_profile(on);
  }
}

// An executor that is replaced leaves its figures behind.
void Interpreter::keep_profile(int32_t program) {
  const auto& executor = executors_[static_cast<size_t>(program)];
  if (!executor || executor->profiled_runs() == 0) return;
  for (size_t s = 0; s < executor->step_ns().size(); ++s) {
    Totals& totals = totals_[{program, s}];
    totals.ns += executor->step_ns()[s];
    totals.runs += executor->profiled_runs();
  }
}

std::vector<StepProfile> Interpreter::profile() const {
  std::vector<StepProfile> rows;
  const auto& programs = engine_.contents().programs;
  for (size_t p = 0; p < programs.size(); ++p) {
    const Executor* executor = executors_[p].get();
    for (size_t s = 0; s < programs[p].steps.size(); ++s) {
      const PlanStep& step = programs[p].steps[s];
      Totals totals;
      if (const auto it = totals_.find({static_cast<int32_t>(p), s}); it != totals_.end())
        totals = it->second;
      StepProfile row{static_cast<int>(p),
                      static_cast<int>(s),
                      step.name,
                      family_name(static_cast<Family>(step.params.index())),
                      step.tactic,
                      step.config,
                      step.origins,
                      0,
                      0,
                      0,
                      ""};
      if (executor && executor->profiled_runs() > 0) {
        const BoundStep& bound = executor->bound().steps[s];
        const Work work = desc_work(bound.desc);
        totals.ns += executor->step_ns()[s];
        totals.runs += executor->profiled_runs();
        row.tactic = bound.tactic->name;
        row.config = bound.config.name;
        row.flops = work.flops;
        row.bytes = work.bytes;
        row.substituted = bound.substituted;
      }
      if (totals.runs == 0) continue;
      row.time_us = totals.ns / 1e3 / static_cast<double>(totals.runs);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<TraceEvent> Interpreter::trace() const {
  std::vector<TraceEvent> events = trace_;
  start_at_zero(events);
  return events;
}

int64_t Interpreter::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto& executor : executors_) bytes += executor ? executor->bound().arena_bytes : 0;
  return bytes;
}

int64_t Interpreter::worker_bytes() const {
  int64_t bytes = 0;
  for (const auto& executor : executors_) {
    if (executor) bytes += executor->bound().worker_bytes * executor->bound().workers;
  }
  return bytes;
}

}  // namespace stoker
