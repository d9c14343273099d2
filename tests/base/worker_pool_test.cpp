// The pool: every worker runs every job once, gangs of many callers queue, the barrier holds.
// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(WorkerPool, EveryWorkerRunsEveryJobOnce) {
  WorkerPool pool({.workers = 3, .spin_us = 20, .pin = false});
  std::array<std::atomic<int>, 3> counts{};
  for (int i = 0; i < 2000; ++i) {
    pool.run(
        [](void* context, int worker) {
          (*static_cast<decltype(counts)*>(context))[static_cast<size_t>(worker)]++;
        },
        &counts);
  }
  for (const auto& count : counts) EXPECT_EQ(count.load(), 2000);
}

TEST(WorkerPool, WakesAfterSleeping) {
  WorkerPool pool({.workers = 2, .spin_us = 0, .pin = false});
  std::atomic<int> count{0};
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.run([](void* context, int) { ++*static_cast<std::atomic<int>*>(context); }, &count);
  }
  EXPECT_EQ(count.load(), 40);
}

TEST(WorkerPool, ConcurrentCallersQueue) {
  WorkerPool pool({.workers = 2, .spin_us = 20, .pin = false});
  std::atomic<int> inside{0}, most{0}, total{0};
  struct Context {
    std::atomic<int>*inside, *most, *total;
  } context{&inside, &most, &total};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        pool.run(
            [](void* raw, int) {
              auto* c = static_cast<Context*>(raw);
              const int now = ++*c->inside;
              int seen = c->most->load();
              while (now > seen && !c->most->compare_exchange_weak(seen, now)) {
              }
              ++*c->total;
              --*c->inside;
            },
            &context);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 1600);
  EXPECT_LE(most.load(), 2);
}

TEST(GangBarrier, NobodyPassesBeforeTheLastArrives) {
  constexpr int kMembers = 4, kRounds = 500;
  GangBarrier barrier(kMembers);
  std::array<std::atomic<int>, kRounds> arrived{};
  std::atomic<bool> broken{false};
  std::vector<std::thread> members;
  for (int m = 0; m < kMembers; ++m) {
    members.emplace_back([&] {
      for (auto& count : arrived) {
        ++count;
        barrier.arrive_and_wait();
        if (count.load() != kMembers) broken = true;
      }
    });
  }
  for (std::thread& member : members) member.join();
  EXPECT_FALSE(broken.load());
}

}  // namespace
}  // namespace stoker
