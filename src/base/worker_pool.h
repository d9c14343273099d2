// A pool of workers that run one function at a time as a gang; the caller is worker 0. Workers spin
// for a while after a job and then sleep, since waking a sleeping thread costs 10-30 us. Gangs of
// several callers enter one after the other, in the order of the lock, so they cannot deadlock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "stoker/status.h"

namespace stoker {

// A barrier for the members of one gang: spins, since its members do nothing else. Reusable.
class GangBarrier {
 public:
  explicit GangBarrier(int members) : members_(members) {}
  void arrive_and_wait();

 private:
  const int members_;
  alignas(128) std::atomic<int> arrived_{0};
  alignas(128) std::atomic<uint32_t> round_{0};
};

struct WorkerPoolOptions {
  int workers = 1;    // the caller included
  int spin_us = 200;  // before an idle worker sleeps
  bool pin = true;    // worker i on the i-th CPU of the process's affinity mask (worker 0 never)
};

class WorkerPool {
 public:
  // Throws std::system_error when the system gives no more threads; shared_worker_pool does not.
  explicit WorkerPool(const WorkerPoolOptions& options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return options_.workers; }
  // Runs job(context, worker) once on every worker and returns when all have finished. Thread-safe:
  // concurrent calls queue. Must not be called from inside a job. Allocates nothing.
  using Job = void (*)(void* context, int worker);
  void run(Job job, void* context);

 private:
  void loop(int worker);
  void stop();  // ends and joins the threads there are

  const WorkerPoolOptions options_;
  std::mutex gang_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  bool stop_ = false;
  alignas(128) std::atomic<uint32_t> sequence_{0};
  alignas(128) std::atomic<int> running_{0};
  std::vector<std::thread> threads_;
};

// The process's pool with these options: engines of one process share workers instead of competing.
// kResourceExhausted when the system gives no more threads.
Result<std::shared_ptr<WorkerPool>> shared_worker_pool(const WorkerPoolOptions& options);

// CPUs that this process may run on.
int available_cpus();

}  // namespace stoker
