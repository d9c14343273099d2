// Session and the running half of Engine.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plan/place.h"
#include "runtime/interpreter.h"
#include "runtime/loaded_engine.h"

namespace stoker {

class SessionState {
 public:
  explicit SessionState(std::shared_ptr<LoadedEngine> engine) : engine_(std::move(engine)) {
    if (engine_->is_dynamic()) interpreter_ = std::make_unique<Interpreter>(*engine_);
  }

  Status bind(const ValueMap& inputs, bool keep_outputs) {
    STOKER_TRY(engine_->check_complete());
    const PlanProgram& program = engine_->main();
    for (const auto& [name, value] : inputs) {
      const auto known = [&, &wanted = name](const PlanPort& port) { return port.name == wanted; };
      if (std::none_of(program.inputs.begin(), program.inputs.end(), known))
        return unknown_input(name);
    }
    std::vector<AnyValue> values;
    for (const PlanPort& port : program.inputs) {
      const PlanTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
      const auto it = inputs.find(port.name);
      // An optional that is left out is an empty one.
      const bool optional = tensor.holds == PlanTensor::Holds::kOptional;
      if (it == inputs.end() && !optional) return missing_input(port.name);
      values.push_back(it == inputs.end() ? AnyValue() : it->second);
      // A scalar may come as one element of any rank, as other runtimes take it.
      const bool scalar =
          tensor.holds == PlanTensor::Holds::kTensor && tensor.ranked && tensor.dims.empty();
      if (scalar && values.back().is_tensor() && values.back().tensor().count() == 1) {
        STOKER_ASSIGN(Tensor element, values.back().tensor().reshaped({}));
        values.back() = AnyValue(std::move(element));
      }
    }
    inputs_ = std::move(values);
    return interpreter_ ? Status::ok() : bind_static(keep_outputs);
  }

  Status run() {
    if (interpreter_) {
      STOKER_ASSIGN(std::vector<AnyValue> outputs, interpreter_->run(inputs_));
      const auto& ports = engine_->main().outputs;
      outputs_.clear();
      for (size_t i = 0; i < ports.size(); ++i) {
        if (outputs[i].is_tensor()) outputs_[ports[i].name] = outputs[i].tensor();
        values_[ports[i].name] = std::move(outputs[i]);
      }
      return Status::ok();
    }
    if (!executor_) return invalid_argument("bind inputs before running");
    return executor_->run(engine_->pool());
  }

  ValueMap values() const {
    if (interpreter_) return values_;
    ValueMap values;
    for (const auto& [name, tensor] : outputs_) values[name] = tensor;
    return values;
  }
  const TensorMap& outputs() const { return outputs_; }
  LoadedEngine& engine() { return *engine_; }
  const Executor* executor() const { return executor_.get(); }
  const Interpreter* interpreter() const { return interpreter_.get(); }
  void enable_profile(bool on) {
    profile_ = on;
    if (executor_) executor_->enable_profile(on);
    if (interpreter_) interpreter_->enable_profile(on);
  }

 private:
  Status bind_static(bool keep_outputs) {
    const PlanProgram& program = engine_->main();
    shapes_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const PlanPort& port = program.inputs[i];
      if (!inputs_[i].is_tensor()) return invalid_argument("input '{}' is no tensor", port.name);
      const DType expected = program.tensors[static_cast<size_t>(port.tensor)].dtype;
      const Tensor& tensor = inputs_[i].tensor();
      if (tensor.dtype() != expected) {
        return invalid_argument("input '{}' is {}, the model expects {}", port.name,
                                dtype_name(tensor.dtype()), dtype_name(expected));
      }
      shapes_.push_back(tensor.shape());
    }
    if (!executor_ || bound_shapes_ != shapes_) {
      STOKER_ASSIGN(const SymbolValues symbols,
                    match_shapes(engine_->contents(), program, shapes_));
      STOKER_ASSIGN(auto bound, engine_->bind(0, symbols));
      STOKER_ASSIGN(executor_,
                    Executor::create(std::move(bound), engine_->options().flush_denormals));
      executor_->enable_profile(profile_);
      bound_shapes_ = shapes_;
      outputs_.clear();
    }
    for (size_t i = 0; i < inputs_.size(); ++i) executor_->set_input(i, inputs_[i].tensor().data());
    return bind_outputs(keep_outputs);
  }

  Status bind_outputs(bool keep) {
    const PlanProgram& program = engine_->main();
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const PlanPort& port = program.outputs[i];
      Tensor& tensor = outputs_[port.name];
      if (!keep || !tensor.defined()) {
        const TensorDesc& desc = executor_->bound().tensors[static_cast<size_t>(port.tensor)].desc;
        STOKER_ASSIGN(tensor, Tensor::allocate(desc.dtype, desc.dims));
      }
      executor_->set_output(i, tensor.data());
    }
    return Status::ok();
  }

  std::string input_list() const {
    std::string list;
    for (const PlanPort& port : engine_->main().inputs)
      list += (list.empty() ? "" : ", ") + port.name;
    return list;
  }
  Status missing_input(const std::string& name) const {
    return invalid_argument("input '{}' is missing; the model's inputs are: {}", name,
                            input_list());
  }
  Status unknown_input(const std::string& name) const {
    return invalid_argument("the model has no input '{}'; its inputs are: {}", name, input_list());
  }

  std::shared_ptr<LoadedEngine> engine_;
  std::unique_ptr<Executor> executor_;        // of a static main program
  std::unique_ptr<Interpreter> interpreter_;  // of a dynamic one
  std::vector<Shape> shapes_, bound_shapes_;
  std::vector<AnyValue> inputs_;  // by port
  TensorMap outputs_;
  ValueMap values_;  // of the interpreter
  bool profile_ = false;
};

Session::Session(const Engine& engine)
    : state_(std::make_unique<SessionState>(engine.shared_impl())) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<TensorMap> Session::run(const TensorMap& inputs) {
  STOKER_TRY(state_->bind(ValueMap(inputs.begin(), inputs.end()), false));
  STOKER_TRY(state_->run());
  for (const PlanPort& port : state_->engine().main().outputs) {
    if (!state_->outputs().count(port.name))
      return invalid_argument("output '{}' is no tensor; use run_values", port.name);
  }
  return state_->outputs();
}

Result<ValueMap> Session::run_values(const ValueMap& inputs) {
  STOKER_TRY(state_->bind(inputs, false));
  STOKER_TRY(state_->run());
  return state_->values();
}

Status Session::bind(const TensorMap& inputs) {
  return state_->bind(ValueMap(inputs.begin(), inputs.end()), true);
}
Status Session::bind_values(const ValueMap& inputs) { return state_->bind(inputs, true); }
Status Session::run_bound() { return state_->run(); }
const TensorMap& Session::bound_outputs() const { return state_->outputs(); }
void Session::enable_profile(bool on) { state_->enable_profile(on); }

std::vector<StepProfile> Session::profile() const {
  if (state_->interpreter()) return state_->interpreter()->profile();
  std::vector<StepProfile> rows;
  const Executor* executor = state_->executor();
  if (!executor || executor->profiled_runs() == 0) return rows;
  for (size_t s = 0; s < executor->bound().steps.size(); ++s) {
    const BoundStep& step = executor->bound().steps[s];
    const Work work = desc_work(step.desc);
    rows.push_back({0, static_cast<int>(s), step.step->name, family_name(step.desc.family()),
                    step.tactic->name, step.config.name, step.step->origins,
                    executor->step_ns()[s] / 1e3 / static_cast<double>(executor->profiled_runs()),
                    work.flops, work.bytes, step.substituted});
  }
  return rows;
}

std::vector<TraceEvent> Session::trace() const {
  if (state_->interpreter()) return state_->interpreter()->trace();
  if (!state_->executor()) return {};
  std::vector<TraceEvent> events = trace_of(*state_->executor(), 0);
  start_at_zero(events);
  return events;
}

namespace {

MemoryUse weight_memory(const EngineContents& contents) {
  MemoryUse use;
  for (const PlanWeight& weight : contents.weights) use.weights_bytes += weight.bytes.bytes();
  for (const PlanSource& source : contents.sources) use.refit_bytes += source.bytes.bytes();
  use.source_weights_bytes = contents.manifest.source_weight_bytes;
  return use;
}

MemoryUse memory_of(const LoadedEngine& engine, const BoundProgram& bound) {
  MemoryUse use = weight_memory(engine.contents());
  use.arena_bytes = bound.arena_bytes;
  std::vector<BufferLifetime> activations = bound.activations;
  use.activation_bytes = place_buffers(activations, engine.options().reuse);
  use.liveness_bytes = bound.liveness_bytes;
  use.workspace_bytes = bound.worker_bytes * bound.workers;
  for (const BoundTensor& tensor : bound.tensors) {
    const bool callers = tensor.storage == BoundTensor::Storage::kInput ||
                         tensor.storage == BoundTensor::Storage::kOutput;
    if (callers) use.caller_bytes += tensor.bytes;
  }
  return use;
}

const char* holds_name(PlanTensor::Holds holds) {
  constexpr const char* kNames[] = {"tensor", "sequence", "optional", "map"};
  return kNames[static_cast<size_t>(holds)];
}

std::vector<TensorInfo> port_infos(const PlanProgram& program, const std::vector<PlanPort>& ports) {
  std::vector<TensorInfo> infos;
  for (const PlanPort& port : ports) {
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    TensorInfo info{port.name, tensor.dtype, {}, tensor.ranked, holds_name(tensor.holds)};
    for (const Dim& dim : tensor.dims) info.dims.push_back(dim.text());
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

MemoryUse Session::memory() const {
  if (const Interpreter* interpreter = state_->interpreter()) {
    MemoryUse use = weight_memory(state_->engine().contents());
    use.arena_bytes = use.activation_bytes = use.liveness_bytes = interpreter->arena_bytes();
    use.workspace_bytes = interpreter->worker_bytes();
    return use;
  }
  return state_->executor() ? memory_of(state_->engine(), state_->executor()->bound())
                            : MemoryUse{};
}

std::vector<TensorInfo> Engine::inputs() const {
  return port_infos(impl_->main(), impl_->main().inputs);
}
std::vector<TensorInfo> Engine::outputs() const {
  return port_infos(impl_->main(), impl_->main().outputs);
}

Result<TensorMap> Engine::run(const TensorMap& inputs) const {
  std::unique_ptr<Session> session = impl_->take_session();
  auto outputs = session->run(inputs);
  impl_->give_session(std::move(session));
  return outputs;
}

Result<ValueMap> Engine::run_values(const ValueMap& inputs) const {
  std::unique_ptr<Session> session = impl_->take_session();
  auto outputs = session->run_values(inputs);
  impl_->give_session(std::move(session));
  return outputs;
}

Result<MemoryUse> Engine::memory(const std::vector<Shape>& input_shapes) const {
  if (input_shapes.size() != impl_->main().inputs.size()) {
    return invalid_argument("the model has {} inputs, {} shapes were given",
                            impl_->main().inputs.size(), input_shapes.size());
  }
  if (impl_->is_dynamic())
    return unsupported("the memory need depends on data; run once and ask the session");
  STOKER_ASSIGN(const SymbolValues symbols,
                match_shapes(impl_->contents(), impl_->main(), input_shapes));
  STOKER_ASSIGN(auto bound, impl_->bind(0, symbols));
  return memory_of(*impl_, *bound);
}

}  // namespace stoker
