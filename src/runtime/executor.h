// Executor: runs a bound program on a pool of workers, as one program per worker with a barrier
// after each stage: one entry into the pool per run, not one per step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "base/worker_pool.h"
#include "device/device.h"
#include "plan/bound.h"
#include "runtime/observer.h"

namespace stoker {

// Pointer tables and arena of one caller for one bound program. Not thread-safe. run() allocates
// nothing unless it is profiled.
class Executor {
 public:
  // Steps placed on a device that does not execute (the null device) are only accounted for there.
  // `flush_denormals`: denormal floats count as zero while running (the caller's mode is restored).
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const BoundProgram> bound,
                                                  bool flush_denormals = false);

  const BoundProgram& bound() const { return *bound_; }
  // Memory of the caller for a port; must stay valid while running. Alignment of the element
  // suffices.
  void set_input(size_t port, const void* data);
  void set_output(size_t port, void* data);
  Status run(WorkerPool& pool);
  // The same on this thread alone; `program` is what the observer is told.
  Status run_observed(RunObserver& observer, int32_t program);
  // Where a step's output lies; null: it has none at this place.
  const void* output(int32_t step, size_t index) const {
    return pointers_[static_cast<size_t>(step)].outputs[index];
  }

  // Clock of the null device, in nanoseconds since creation; 0 when no step is placed there.
  double virtual_ns() const { return null_device_ ? null_device_->now_ns() : 0; }

  // Nanoseconds of each step summed over the runs since the profile was enabled (slowest worker),
  // and the runs.
  void enable_profile(bool on);
  const std::vector<double>& step_ns() const { return step_ns_; }
  int64_t profiled_runs() const { return profiled_runs_; }
  // What each worker did in the last profiled run, by the clock of base/clock.h.
  struct Event {
    int32_t step = 0;
    int phase = 0, worker = 0;
    double start_ns = 0, end_ns = 0;
  };
  std::vector<Event> events() const;

 private:
  explicit Executor(std::shared_ptr<const BoundProgram> bound)
      : bound_(std::move(bound)), barrier_(bound_->workers) {}
  void resolve_pointers();
  void add_to_profile();
  void work(int worker);
  void launch(const StageItem& item, int worker);
  void account(const BoundStep& step, const StageItem& item);

  struct StepPointers {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };
  std::shared_ptr<const BoundProgram> bound_;
  GangBarrier barrier_;
  std::unique_ptr<Device> null_device_;
  DeviceBuffer arena_;
  DeviceBuffer scratch_;
  std::vector<StepPointers> pointers_;
  std::vector<std::vector<const void**>> input_slots_;  // per port: the table entries to rewrite
  std::vector<std::vector<void**>> output_slots_;
  std::vector<std::vector<const void**>> output_reads_;

  std::atomic<bool> failed_{false};
  std::mutex error_mutex_;
  Status error_;

  bool flush_denormals_ = false;
  bool profile_ = false;
  int64_t profiled_runs_ = 0;
  std::vector<double> step_ns_;
  std::vector<double> worker_ns_;                  // by step, of one worker
  std::vector<std::vector<Event>> worker_events_;  // of the last run
};

}  // namespace stoker
