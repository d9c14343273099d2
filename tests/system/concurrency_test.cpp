// Many callers of few engines: the bits of a single caller, no allocation once bound, no deadlock,
// no growth.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "base/file.h"
#include "stoker/builder.h"
#include "tests/base/allocations.h"
#include "tests/engine/sample.h"
#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

using namespace std::chrono_literals;

// Ten times the work in the slow tier, where CONCURRENCY_FULL is set.
int full(int quick) { return std::getenv("CONCURRENCY_FULL") ? quick * 10 : quick; }

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 13) / 13.0f - 0.4f;
  return values;
}

ModelText convolutions() {
  ModelText m(17);
  m.input("x", {"N", "3", "H", "16"});
  m.initializer<float>("w", {24, 3, 3, 3}, ramp(24 * 27));
  m.initializer<float>("v", {24, 24, 3, 3}, ramp(24 * 24 * 9));
  m.initializer<float>("f", {24, 10}, ramp(240));
  m.node("Conv", {"x", "w"}, {"c"}).ints("pads", {1, 1, 1, 1});
  m.node("Relu", {"c"}, {"r"});
  m.node("Conv", {"r", "v"}, {"d"}).ints("pads", {1, 1, 1, 1});
  m.node("Add", {"d", "r"}, {"a"});
  m.node("GlobalAveragePool", {"a"}, {"g"});
  m.node("Flatten", {"g"}, {"l"});
  m.node("MatMul", {"l", "f"}, {"p"});
  m.node("Softmax", {"p"}, {"y"});
  m.output("y");
  return m;
}

ModelText attention() {
  ModelText m(17);
  m.input("x", {"N", "T", "32"});
  for (const char* name : {"q", "k", "v"}) {
    m.initializer<float>(std::string("w") + name, {32, 32}, ramp(1024));
    m.node("MatMul", {"x", std::string("w") + name}, {name});
  }
  m.node("Transpose", {"k"}, {"t"}).ints("perm", {0, 2, 1});
  m.node("MatMul", {"q", "t"}, {"s"});
  m.node("Softmax", {"s"}, {"p"});
  m.node("MatMul", {"p", "v"}, {"o"});
  m.node("Tanh", {"o"}, {"y"});
  m.output("y");
  return m;
}

// A branch by value and a size that depends on data.
ModelText branches() {
  ModelText m(17);
  m.input("x", {"N", "8"});
  m.initializer<float>("w", {8, 8}, ramp(64));
  m.initializer<float>("limit", {}, {0.5f});
  m.node("MatMul", {"x", "w"}, {"p"});
  m.node("ReduceMax", {"x"}, {"top"}).set("keepdims", int64_t{0});
  m.node("Greater", {"top", "limit"}, {"more"});
  auto choice = m.node("If", {"more"}, {"y"});
  for (const auto& [branch, op] : {std::pair("then_branch", "Exp"), {"else_branch", "Neg"}}) {
    auto& body = choice.graph(branch);
    body.set_name(branch);
    add_node(body, op, {"p"}, {op});
    body.add_output()->set_name(op);
  }
  m.node("NonZero", {"p"}, {"places"});
  m.output("y");
  m.output("places");
  return m;
}

struct Net {
  const char* name;
  ModelText (*model)();
  Shape (*shape)(int variant);
};
constexpr Net kNets[] = {{"convolutions", convolutions,
                          [](int v) {
                            return Shape{1 + v % 3, 3, 8 + v % 4, 16};
                          }},
                         {"attention", attention,
                          [](int v) {
                            return Shape{1 + v % 2, 3 + v % 5, 32};
                          }},
                         {"branches", branches, [](int v) {
                            return Shape{1 + v % 4, 8};
                          }}};
constexpr int kVariants = 12;

Engine built(const Net& net, const char* threads = "2") {
  const TemporaryFolder folder;
  const std::string bytes = net.model().bytes();
  std::ofstream(folder.file("m.onnx"), std::ios::binary) << bytes;
  const auto model = Model::load(folder.file("m.onnx"));
  EXPECT_TRUE(model.is_ok()) << model.status().message();
  BuildOptions options;
  options.knobs = {{"tactic_timing", "false"}, {"timing_cache", ""}, {"threads", threads}};
  auto engine = build(*model, options);
  EXPECT_TRUE(engine.is_ok()) << engine.status().message();
  return *engine;
}

TensorMap inputs_of(const Net& net, int variant) {
  std::mt19937 random(static_cast<unsigned>(variant));
  Tensor x = *Tensor::allocate(DType::kF32, net.shape(variant));
  for (float& value : x.values<float>())
    value = static_cast<float>(random() % 2000) / 1000.0f - 1.2f;
  return {{"x", x}};
}

bool same_bits(const TensorMap& a, const TensorMap& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    const Tensor& other = b.at(name);
    if (tensor.shape() != other.shape() ||
        std::memcmp(tensor.data(), other.data(), static_cast<size_t>(tensor.bytes())) != 0)
      return false;
  }
  return true;
}

// An engine with what a single caller gets for every variant.
struct Known {
  const Net* net;
  Engine engine;
  std::vector<TensorMap> inputs, outputs;
};

std::vector<Known> known_engines(const char* threads = "2") {
  std::vector<Known> list;
  for (const Net& net : kNets) {
    Known known{&net, built(net, threads), {}, {}};
    for (int v = 0; v < kVariants; ++v) {
      known.inputs.push_back(inputs_of(net, v));
      auto outputs = known.engine.run(known.inputs.back());
      EXPECT_TRUE(outputs.is_ok()) << net.name << ": " << outputs.status().message();
      known.outputs.push_back(std::move(*outputs));
    }
    list.push_back(std::move(known));
  }
  return list;
}

// Ends the program with a message when the work takes too long: a deadlock.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit)
      : thread_([this, limit] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, limit, [this] { return ended_; })) return;
          std::fprintf(stderr, "no end after %lld s: the callers wait for each other\n",
                       static_cast<long long>(limit.count()));
          std::abort();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool ended_ = false;
  std::thread thread_;
};

void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// A thread's runs, some through the engine's own sessions, some through one of its own.
int wrong_answers(const std::vector<Known>& engines, int thread, int runs) {
  std::mt19937 random(static_cast<unsigned>(thread) * 77 + 1);
  std::vector<Session> sessions;
  for (const Known& known : engines) sessions.emplace_back(known.engine);
  int wrong = 0;
  for (int i = 0; i < runs; ++i) {
    const size_t e = random() % engines.size(), v = random() % kVariants;
    const Known& known = engines[e];
    if (random() % 2) {
      const auto outputs = known.engine.run(known.inputs[v]);
      wrong += !outputs.is_ok() || !same_bits(*outputs, known.outputs[v]);
    } else {
      const bool ran = sessions[e].bind(known.inputs[v]).is_ok() && sessions[e].run_bound().is_ok();
      wrong += !ran || !same_bits(sessions[e].bound_outputs(), known.outputs[v]);
    }
  }
  return wrong;
}

TEST(Concurrency, SixteenThreadsGetTheBitsOfOne) {
  constexpr int kThreads = 16, kRuns = 3 * 1000;
  const std::vector<Known> engines = known_engines();
  const Watchdog watchdog(240s);
  std::atomic<int> wrong{0};
  on_threads(kThreads, [&](int t) { wrong += wrong_answers(engines, t, kRuns / kThreads + 1); });
  EXPECT_EQ(wrong, 0);
}

// Pools of one, two and more workers than CPUs, entered by far more callers than there are.
TEST(Concurrency, CrowdsDoNotDeadlock) {
  std::vector<Known> engines;
  for (const char* threads : {"1", "2", "5"}) {
    for (Known& known : known_engines(threads)) engines.push_back(std::move(known));
  }
  const Watchdog watchdog(240s);
  std::atomic<int> wrong{0};
  on_threads(64, [&](int t) { wrong += wrong_answers(engines, t, full(20)); });
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, BoundRunsAllocateNothing) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer brings its own allocator";
  for (const Net& net : {kNets[0], kNets[1]}) {
    const Engine engine = built(net);
    std::vector<Session> sessions;
    for (int t = 0; t < 4; ++t) {
      sessions.emplace_back(engine);
      ASSERT_TRUE(sessions.back().bind(inputs_of(net, t)).is_ok());
      ASSERT_TRUE(sessions.back().run_bound().is_ok());
    }
    std::atomic<int> ready{0}, failed{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (Session& session : sessions) {
      threads.emplace_back([&] {
        ready++;
        while (!go) std::this_thread::yield();
        for (int i = 0; i < 250; ++i) failed += !session.run_bound().is_ok();
        ready--;
        while (go) std::this_thread::yield();
      });
    }
    while (ready != 4) std::this_thread::yield();
    const int64_t before = allocations();
    const size_t bytes = mallinfo2().uordblks;
    go = true;
    while (ready != 0) std::this_thread::yield();
    EXPECT_EQ(allocations() - before, 0) << net.name;
    EXPECT_EQ(mallinfo2().uordblks, bytes) << net.name;
    go = false;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
  }
}

// The counter itself.
TEST(Concurrency, AllocationsAreCounted) {
  if (kSanitized) GTEST_SKIP();
  const int64_t before = allocations();
  auto memory = std::make_unique<std::string>(1000, 'x');
  EXPECT_EQ(memory->size(), 1000u);
  EXPECT_GE(allocations() - before, 1);
}

int64_t resident_bytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Concurrency, MemoryStaysFlatOverRuns) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer keeps freed memory";
  const int runs = full(10'000);
  const std::vector<Known> engines = known_engines();
  for (const Known& known : engines) {
    Session session(known.engine);
    const auto run = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const auto v = static_cast<size_t>(i % kVariants);
        if (i % 3 == 0) {
          ASSERT_TRUE(known.engine.run(known.inputs[v]).is_ok());
        } else {
          ASSERT_TRUE(session.run(known.inputs[v]).is_ok());
        }
      }
    };
    run(1000);
    const int64_t before = resident_bytes();
    run(runs);
    const int64_t growth = resident_bytes() - before;
    std::printf("%s: %d runs of %d shapes, memory grew by %lld KiB\n", known.net->name, runs,
                kVariants, static_cast<long long>(growth / 1024));
    EXPECT_LT(growth, 1 << 20) << known.net->name;
  }
}

TEST(Concurrency, MemoryStaysFlatOverLoads) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer keeps freed memory";
  constexpr int loads = 1000;
  for (const Net& net : kNets) {
    const TemporaryFolder folder;
    ASSERT_TRUE(built(net).save(folder.file("m.engine")).is_ok());
    const TensorMap inputs = inputs_of(net, 1);
    const auto cycle = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const auto engine = Engine::load(folder.file("m.engine"), {{"threads", "2"}});
        ASSERT_TRUE(engine.is_ok()) << engine.status().message();
        ASSERT_TRUE(engine->run(inputs).is_ok());
      }
    };
    cycle(50);
    const int64_t before = resident_bytes();
    cycle(loads);
    const int64_t growth = resident_bytes() - before;
    std::printf("%s: loaded, run and dropped %d times, memory grew by %lld KiB\n", net.name, loads,
                static_cast<long long>(growth / 1024));
    EXPECT_LT(growth, 1 << 20) << net.name;
  }
}

// Loads an engine for 64 threads where the address space holds the stacks of 8.
[[noreturn]] void load_without_threads() {
  const TemporaryFolder folder;
  if (!built(kNets[0]).save(folder.file("m.engine")).is_ok()) _exit(3);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto space = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (64 << 20));
  const rlimit limit{space, space};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(4);
  const auto engine = Engine::load(folder.file("m.engine"), {{"threads", "64"}});
  if (engine.is_ok()) _exit(5);
  std::fprintf(stderr, "%s\n", engine.status().message().c_str());
  _exit(engine.status().code() == StatusCode::kResourceExhausted ? 0 : 6);
}

// In a child process, since the limit stays.
TEST(Concurrency, NoMoreThreadsIsAMessage) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs the address space";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(load_without_threads(), testing::ExitedWithCode(0), "cannot start 63 worker threads");
}

}  // namespace
}  // namespace stoker::test
