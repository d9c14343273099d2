// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <map>
#include <memory>
#include <system_error>

#include "base/status.h"

namespace stoker {
namespace {

inline void pause_cpu() { __builtin_ia32_pause(); }

// A spin that gives the CPU away now and then: with more threads than CPUs, the member waited for
// may need this one's time slice.
class Spin {
 public:
  void operator()() {
    pause_cpu();
    if (++count_ % 4096 == 0) std::this_thread::yield();
  }

 private:
  unsigned count_ = 0;
};

std::vector<int> affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cpus.push_back(i);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

}  // namespace

int available_cpus() { return static_cast<int>(affinity_cpus().size()); }

void GangBarrier::arrive_and_wait() {
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  Spin spin;
  while (round_.load(std::memory_order_acquire) == round) spin();
}

WorkerPool::WorkerPool(const WorkerPoolOptions& options) : options_(options) {
  const std::vector<int> cpus = affinity_cpus();
  // When the system gives no more threads, those that run must end before the pool goes away.
  const auto end_workers = [](WorkerPool* pool) { pool->stop(); };
  std::unique_ptr<WorkerPool, decltype(end_workers)> unfinished(this, end_workers);
  for (int worker = 1; worker < options_.workers; ++worker) {
    threads_.emplace_back([this, worker] { loop(worker); });
    if (options_.pin && static_cast<size_t>(options_.workers) <= cpus.size()) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpus[static_cast<size_t>(worker)], &set);
      pthread_setaffinity_np(threads_.back().native_handle(), sizeof set, &set);
    }
  }
  (void)unfinished.release();
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  stop_ = true;
  sequence_.fetch_add(1, std::memory_order_release);
  sequence_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(Job job, void* context) {
  if (threads_.empty()) return job(context, 0);
  std::lock_guard<std::mutex> lock(gang_);
  job_ = job;
  context_ = context;
  running_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  sequence_.fetch_add(1, std::memory_order_release);
  sequence_.notify_all();
  job(context, 0);
  Spin spin;
  while (running_.load(std::memory_order_acquire) != 0) spin();
}

void WorkerPool::loop(int worker) {
  uint32_t seen = 0;
  const auto spin_time = std::chrono::microseconds(options_.spin_us);
  while (true) {
    auto deadline = std::chrono::steady_clock::now() + spin_time;
    unsigned count = 0;
    while (sequence_.load(std::memory_order_acquire) == seen) {
      pause_cpu();
      if (++count % 64 == 0 && std::chrono::steady_clock::now() > deadline) {
        sequence_.wait(seen, std::memory_order_acquire);
      }
    }
    // A worker takes part in every job, so it can never be more than one behind.
    ++seen;
    if (stop_) return;
    job_(context_, worker);
    running_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

Result<std::shared_ptr<WorkerPool>> shared_worker_pool(const WorkerPoolOptions& options) {
  static std::mutex mutex;
  static std::map<std::tuple<int, int, bool>, std::weak_ptr<WorkerPool>> pools;
  std::lock_guard<std::mutex> lock(mutex);
  auto& slot = pools[{options.workers, options.spin_us, options.pin}];
  std::shared_ptr<WorkerPool> pool = slot.lock();
  if (!pool) {
    try {
      pool = std::make_shared<WorkerPool>(options);
    } catch (const std::system_error& fault) {
      return error(
          StatusCode::kResourceExhausted,
          "cannot start {} worker threads: {}; use fewer (knob threads) or raise the limit "
          "on processes (ulimit -u)",
          options.workers - 1, fault.code().message());
    }
    slot = pool;
  }
  return pool;
}

}  // namespace stoker
