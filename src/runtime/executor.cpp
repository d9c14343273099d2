// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.h"

#include <algorithm>
#include <new>

#include "base/clock.h"
#include "base/memory.h"

namespace stoker {
namespace {

// Sets flush-to-zero and denormals-are-zero for this thread until destroyed.
class DenormalMode {
 public:
  explicit DenormalMode(bool flush) : saved_(__builtin_ia32_stmxcsr()) {
    if (flush) __builtin_ia32_ldmxcsr(saved_ | kFlushToZero | kDenormalsAreZero);
  }
  ~DenormalMode() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned saved_;
};

// Reference evaluations allocate; running out of memory there must not end the process.
Status launch_guarded(const Tactic& tactic, const Launch& launch) {
  try {
    return tactic.launch(launch);
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResourceExhausted, "no memory for {}", tactic.name);
  }
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const BoundProgram> bound,
                                                   bool flush_denormals) {
  std::unique_ptr<Executor> executor(new Executor(std::move(bound)));
  executor->flush_denormals_ = flush_denormals;
  const BoundProgram& program = *executor->bound_;
  const auto cpu = make_cpu_device();
  STOKER_ASSIGN(executor->arena_, cpu->allocate(program.arena_bytes));
  STOKER_ASSIGN(executor->scratch_,
                cpu->allocate(round_up(program.worker_bytes, 4096) * program.workers));
  for (const BoundStep& step : program.steps) {
    if (step.step->place.kind == Place::Kind::kNull) {
      executor->null_device_ = make_null_device({.index = step.step->place.index});
      break;
    }
  }
  executor->resolve_pointers();
  return executor;
}

void Executor::resolve_pointers() {
  pointers_.resize(bound_->steps.size());
  input_slots_.resize(bound_->program->inputs.size());
  output_slots_.resize(bound_->program->outputs.size());
  output_reads_.resize(bound_->program->outputs.size());
  auto* arena = static_cast<std::byte*>(arena_.host);
  for (size_t s = 0; s < bound_->steps.size(); ++s) {
    const BoundStep& step = bound_->steps[s];
    pointers_[s].inputs.assign(step.inputs.size(), nullptr);
    pointers_[s].outputs.assign(step.outputs.size(), nullptr);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      const BoundTensor& tensor = bound_->tensors[static_cast<size_t>(step.inputs[i])];
      const void*& slot = pointers_[s].inputs[i];
      const auto index = static_cast<size_t>(tensor.index);
      switch (tensor.storage) {
        case BoundTensor::Storage::kArena: slot = arena + tensor.offset; break;
        case BoundTensor::Storage::kInput: input_slots_[index].push_back(&slot); break;
        case BoundTensor::Storage::kOutput: output_reads_[index].push_back(&slot); break;
        case BoundTensor::Storage::kWeight: slot = bound_->weights[index].data(); break;
        case BoundTensor::Storage::kShapeValue:
          slot = static_cast<const std::byte*>(bound_->shape_pool.data()) + tensor.offset;
          break;
        case BoundTensor::Storage::kState: break;
      }
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      const BoundTensor& tensor = bound_->tensors[static_cast<size_t>(step.outputs[i])];
      if (tensor.storage == BoundTensor::Storage::kOutput) {
        output_slots_[static_cast<size_t>(tensor.index)].push_back(&pointers_[s].outputs[i]);
      } else {
        pointers_[s].outputs[i] = arena + tensor.offset;
      }
    }
  }
}

void Executor::set_input(size_t port, const void* data) {
  for (const void** slot : input_slots_[port]) *slot = data;
}

void Executor::set_output(size_t port, void* data) {
  for (void** slot : output_slots_[port]) *slot = data;
  for (const void** slot : output_reads_[port]) *slot = data;
}

void Executor::enable_profile(bool on) {
  profile_ = on;
  profiled_runs_ = 0;
  step_ns_.assign(bound_->steps.size(), 0);
  size_t items = 0;
  for (const Stage& stage : bound_->stages) items += stage.items.size();
  worker_events_.assign(static_cast<size_t>(bound_->workers), {});
  for (auto& events : worker_events_) events.reserve(on ? items : 0);
  worker_ns_.assign(bound_->steps.size(), 0);
}

// A step takes as long as its slowest worker.
void Executor::add_to_profile() {
  ++profiled_runs_;
  std::vector<double> slowest(step_ns_.size(), 0);
  for (const auto& events : worker_events_) {
    std::fill(worker_ns_.begin(), worker_ns_.end(), 0);
    for (const Event& event : events)
      worker_ns_[static_cast<size_t>(event.step)] += event.end_ns - event.start_ns;
    for (size_t s = 0; s < slowest.size(); ++s) slowest[s] = std::max(slowest[s], worker_ns_[s]);
  }
  for (size_t s = 0; s < slowest.size(); ++s) step_ns_[s] += slowest[s];
}

std::vector<Executor::Event> Executor::events() const {
  std::vector<Event> all;
  for (const auto& events : worker_events_) all.insert(all.end(), events.begin(), events.end());
  return all;
}

Status Executor::run(WorkerPool& pool) {
  failed_.store(false, std::memory_order_relaxed);
  for (auto& events : worker_events_) events.clear();
  if (bound_->alone) {
    work(0);
  } else {
    pool.run([](void* self, int worker) { static_cast<Executor*>(self)->work(worker); }, this);
  }
  if (profile_) {
    add_to_profile();
  }
  return failed_.load() ? error_ : Status::ok();
}

Status Executor::run_observed(RunObserver& observer, int32_t program) {
  failed_.store(false, std::memory_order_relaxed);
  const DenormalMode mode(flush_denormals_);
  for (const Stage& stage : bound_->stages) {
    for (const StageItem& item : stage.items) {
      for (int worker = 0; worker < bound_->workers; ++worker) launch(item, worker);
      if (failed_.load()) return error_;
      const BoundStep& step = bound_->steps[static_cast<size_t>(item.step)];
      if (item.phase + 1 == static_cast<int32_t>(step.phase_units.size()))
        observer.after_step(program, *this, item.step);
    }
  }
  return Status::ok();
}

void Executor::work(int worker) {
  const DenormalMode mode(flush_denormals_);
  for (const Stage& stage : bound_->stages) {
    for (const StageItem& item : stage.items) launch(item, worker);
    if (stage.barrier && bound_->workers > 1) barrier_.arrive_and_wait();
  }
}

void Executor::account(const BoundStep& step, const StageItem& item) {
  if (item.phase > 0) return;
  const Work work = desc_work(step.desc);
  null_device_->account(work.flops / bound_->workers, work.bytes / bound_->workers);
}

void Executor::launch(const StageItem& item, int worker) {
  const int64_t begin = item.begin[static_cast<size_t>(worker)],
                end = item.begin[static_cast<size_t>(worker) + 1];
  if (begin >= end || failed_.load(std::memory_order_relaxed)) return;
  const auto s = static_cast<size_t>(item.step);
  const BoundStep& step = bound_->steps[s];
  if (step.step->place.kind == Place::Kind::kNull) return account(step, item);
  Launch launch;
  launch.desc = &step.desc;
  launch.config = &step.config;
  launch.prepared = step.prepared.get();
  launch.inputs = pointers_[s].inputs.data();
  launch.outputs = pointers_[s].outputs.data();
  launch.shared_workspace = static_cast<std::byte*>(arena_.host) + step.shared_offset;
  launch.worker_workspace =
      static_cast<std::byte*>(scratch_.host) + round_up(bound_->worker_bytes, 4096) * worker;
  launch.phase = item.phase;
  launch.unit_begin = begin;
  launch.unit_end = end;
  const double start = profile_ ? now_ns() : 0;
  const Status status = launch_guarded(*step.tactic, launch);
  if (profile_) {
    worker_events_[static_cast<size_t>(worker)].push_back(
        {item.step, item.phase, worker, start, now_ns()});
  }
  if (!status.is_ok()) {
    std::lock_guard<std::mutex> lock(error_mutex_);
    if (!failed_.exchange(true)) error_ = status.at(step.step->name);
  }
}

}  // namespace stoker
