// From a zoo model to a saved engine and back: same answers, same digest from decisions, other ISA
// levels, threads, shapes, callers, devices; and the refusals of wrong inputs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "device/isa.h"
#include "ir/graph.h"
#include "runtime/executor.h"
#include "runtime/loaded_engine.h"
#include "stoker/builder.h"
#include "tune/decisions.h"
#include "zoo/zoo.h"

namespace stoker {
namespace {

class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ =
        std::filesystem::temp_directory_path() / ("stoker_engine_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    ASSERT_TRUE(write_zoo_model("lenet", file("lenet.onnx")));
    const auto model = Model::load(file("lenet.onnx"));
    ASSERT_TRUE(model) << model.status().message();
    model_ = std::make_unique<Model>(*model);
    auto engine = build(*model_, options());
    ASSERT_TRUE(engine) << engine.status().message();
    engine_ = std::make_unique<Engine>(*engine);
    ASSERT_TRUE(engine_->save(file("lenet.engine")));
  }
  static void TearDownTestSuite() {
    engine_.reset();
    model_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::string file(const std::string& name) { return (folder_ / name).string(); }
  static BuildOptions options() {
    BuildOptions options;
    options.knobs = {{"threads", "2"}, {"timing_cache", file("timings.sqlite")}};
    return options;
  }
  static TensorMap inputs(int64_t batch, float shift = 0) {
    Tensor x = *Tensor::allocate(DType::kF32, {batch, 1, 28, 28});
    auto values = x.values<float>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(0.37f * static_cast<float>(i) + shift);
    return {{engine_->inputs()[0].name, x}};
  }
  static bool same_bits(const TensorMap& a, const TensorMap& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [name, tensor] : a) {
      const Tensor& other = b.at(name);
      if (tensor.shape() != other.shape() ||
          std::memcmp(tensor.data(), other.data(), static_cast<size_t>(tensor.bytes())) != 0)
        return false;
    }
    return true;
  }
  static double largest_difference(const TensorMap& a, const TensorMap& b) {
    double worst = 0;
    for (const auto& [name, tensor] : a) {
      for (size_t i = 0; i < tensor.values<float>().size(); ++i) {
        worst = std::max(
            worst, std::fabs(double{tensor.values<float>()[i]} - b.at(name).values<float>()[i]));
      }
    }
    return worst;
  }

  static std::filesystem::path folder_;
  static std::unique_ptr<Model> model_;
  static std::unique_ptr<Engine> engine_;
};
std::filesystem::path EngineTest::folder_;
std::unique_ptr<Model> EngineTest::model_;
std::unique_ptr<Engine> EngineTest::engine_;

TEST_F(EngineTest, SavedEngineAnswersWithTheSameBits) {
  const auto loaded = Engine::load(file("lenet.engine"), {{"threads", "2"}});
  ASSERT_TRUE(loaded) << loaded.status().message();
  const auto before = engine_->run(inputs(3)), after = loaded->run(inputs(3));
  ASSERT_TRUE(before && after);
  EXPECT_TRUE(same_bits(*before, *after));
  EXPECT_EQ(*engine_->digest(), *loaded->digest());
}

TEST_F(EngineTest, AgreesWithTheReferenceTactics) {
  auto slow = options();
  slow.knobs.emplace_back("reference_only", "true");
  const auto reference = build(*model_, slow);
  ASSERT_TRUE(reference) << reference.status().message();
  const auto expected = reference->run(inputs(2)), found = engine_->run(inputs(2));
  ASSERT_TRUE(expected && found);
  EXPECT_LT(largest_difference(*expected, *found), 1e-4);
}

TEST_F(EngineTest, BitsDoNotDependOnThreads) {
  const auto expected = engine_->run(inputs(7));
  ASSERT_TRUE(expected);
  for (const char* threads : {"1", "2", "3", "5"}) {
    const auto engine =
        Engine::load(file("lenet.engine"), {{"threads", threads}, {"pin_threads", "false"}});
    ASSERT_TRUE(engine);
    const auto found = engine->run(inputs(7));
    ASSERT_TRUE(found);
    EXPECT_TRUE(same_bits(*expected, *found)) << threads << " threads";
  }
}

TEST_F(EngineTest, MovesBetweenIsaLevels) {
  const auto expected = engine_->run(inputs(2));
  ASSERT_TRUE(expected);
  for (int level = 0; level <= static_cast<int>(detect_isa()); ++level) {
    const std::string isa(isa_name(static_cast<IsaLevel>(level)));
    const auto engine = Engine::load(file("lenet.engine"), {{"isa", isa}});
    ASSERT_TRUE(engine) << engine.status().message();
    const auto found = engine->run(inputs(2));
    ASSERT_TRUE(found) << found.status().message();
    EXPECT_LT(largest_difference(*expected, *found), 1e-4) << isa;
  }
}

TEST_F(EngineTest, DecisionsGiveTheSameDigest) {
  auto again = options();
  again.decisions = decisions(*engine_);
  again.knobs.emplace_back("tactic_timing", "false");
  const auto engine = build(*model_, again);
  ASSERT_TRUE(engine) << engine.status().message();
  EXPECT_EQ(*engine->digest(), *engine_->digest());
}

TEST_F(EngineTest, DecisionsAreFollowedNotContested) {
  auto parsed = parse_decisions(decisions(*engine_));
  ASSERT_TRUE(parsed);
  size_t changed = 0;
  for (auto& [name, decision] : parsed->steps) {
    if (decision.tactic == "region_tile") {
      decision.tactic = "region_reference";
      decision.config = "default";
      ++changed;
    }
  }
  auto again = options();
  again.decisions = decisions_text(*parsed);
  const auto engine = build(*model_, again);
  ASSERT_TRUE(engine) << engine.status().message();
  if (changed) EXPECT_NE(*engine->digest(), *engine_->digest());
}

TEST_F(EngineTest, ShapesBindWithoutRebuilding) {
  Session session(*engine_);
  const auto one = session.run(inputs(1));
  ASSERT_TRUE(one);
  for (const int64_t batch : {5, 1, 16, 1}) {
    const auto found = session.run(inputs(batch));
    ASSERT_TRUE(found) << found.status().message();
    const Tensor& first = one->begin()->second;
    EXPECT_EQ(found->begin()->second.shape()[0], batch);
    EXPECT_EQ(std::memcmp(found->begin()->second.data(), first.data(),
                          static_cast<size_t>(first.bytes())),
              0)
        << "the first row of batch " << batch;
  }
}

TEST_F(EngineTest, ManyCallersGetTheBitsOfOne) {
  std::vector<TensorMap> expected;
  for (int i = 0; i < 4; ++i)
    expected.push_back(*engine_->run(inputs(1 + i, static_cast<float>(i))));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const int which = (t + i) % 4;
        const auto found = engine_->run(inputs(1 + which, static_cast<float>(which)));
        if (!found || !same_bits(*found, expected[static_cast<size_t>(which)])) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(EngineTest, BoundRunsRewriteTheSameOutputs) {
  Session session(*engine_);
  TensorMap in = inputs(2);
  ASSERT_TRUE(session.bind(in));
  ASSERT_TRUE(session.run_bound());
  const void* data = session.bound_outputs().begin()->second.data();
  in.begin()->second.values<float>()[5] += 1;  // the session keeps the caller's storage
  ASSERT_TRUE(session.run_bound());
  EXPECT_EQ(session.bound_outputs().begin()->second.data(), data);
  const auto fresh = engine_->run(in);
  ASSERT_TRUE(fresh);
  EXPECT_TRUE(same_bits(session.bound_outputs(), *fresh));
}

TEST_F(EngineTest, WrongInputsAreRefusedByName) {
  const std::string name = engine_->inputs()[0].name;
  const auto message = [&](const TensorMap& in) {
    const auto result = engine_->run(in);
    return result ? std::string("ran") : result.status().message();
  };
  EXPECT_NE(message({}).find("'" + name + "' is missing"), std::string::npos);
  TensorMap extra = inputs(1);
  extra["nonsense"] = Tensor::scalar_f32(1);
  EXPECT_NE(message(extra).find("no input 'nonsense'"), std::string::npos);
  EXPECT_NE(message({{name, *Tensor::allocate(DType::kI64, {1, 1, 28, 28})}})
                .find("is i64, the model expects f32"),
            std::string::npos);
  EXPECT_NE(
      message({{name, *Tensor::allocate(DType::kF32, {1, 28, 28})}}).find("has shape [1,28,28]"),
      std::string::npos);
  EXPECT_NE(message({{name, *Tensor::allocate(DType::kF32, {1, 1, 28, 29})}}).find("expected"),
            std::string::npos);
}

TEST_F(EngineTest, NullDevicePlansTransfersAndCountsTime) {
  auto null = options();
  null.device = "null:0";
  const auto engine = build(*model_, null);
  ASSERT_TRUE(engine) << engine.status().message();
  size_t moves = 0, placed = 0;
  for (const PlanStep& step : engine->impl().main().steps) {
    moves += step.name.rfind("move_", 0) == 0;
    placed += step.place.kind == Place::Kind::kNull;
  }
  EXPECT_EQ(moves, 2u);  // one input, one output
  EXPECT_GT(placed, 2u);
  const auto found = engine->run(inputs(1));
  ASSERT_TRUE(found) << found.status().message();
  // The virtual clock depends on the work alone: equal runs take equal time, a larger batch more.
  const auto virtual_ns = [&](int64_t batch, int runs) {
    const auto symbols =
        match_shapes(engine->impl().contents(), engine->impl().main(), {{batch, 1, 28, 28}});
    auto executor = Executor::create(*engine->impl().bind(0, *symbols));
    EXPECT_TRUE(executor);
    TensorMap in = inputs(batch);
    Tensor out = *Tensor::allocate(DType::kF32, {batch, 10});
    (*executor)->set_input(0, in.begin()->second.data());
    (*executor)->set_output(0, out.data());
    for (int i = 0; i < runs; ++i) EXPECT_TRUE((*executor)->run(engine->impl().pool()));
    return (*executor)->virtual_ns();
  };
  EXPECT_GT(virtual_ns(1, 1), 0);
  EXPECT_NEAR(virtual_ns(1, 4), 4 * virtual_ns(1, 1), 1);
  EXPECT_GT(virtual_ns(512, 1), virtual_ns(1, 1));
}

TEST_F(EngineTest, BuildsForAnAbsentOrLowerTarget) {
  auto lower = options();
  lower.device = "cpu:x86-64-v3";
  const auto engine = build(*model_, lower);
  ASSERT_TRUE(engine) << engine.status().message();
  EXPECT_LT(largest_difference(*engine->run(inputs(2)), *engine_->run(inputs(2))), 1e-4);
  lower.device = "tpu:3";
  const auto refused = build(*model_, lower);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.status().message().find("unknown device 'tpu:3'"), std::string::npos);
}

TEST_F(EngineTest, CertificateHasFigures) {
  const Volatile& section = engine_->impl().contents().volatile_section;
  ASSERT_EQ(section.certificate.outputs.size(), 1u);
  EXPECT_LT(section.certificate.outputs[0].max_rel_error, 1e-4);
  EXPECT_TRUE(section.certificate.demoted.empty());
  size_t checked = 0;
  for (const StepMeasurement& step : section.steps) checked += step.check_elements > 0;
  EXPECT_GT(checked, 0u);
}

}  // namespace
}  // namespace stoker
