// What `inspect --compat` says of engines whose choices this library does not have: which steps
// change, which weights are packed again; and that such engines give the same answers.
// SPDX-License-Identifier: Apache-2.0
#include "api/compat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "runtime/loaded_engine.h"
#include "stoker/builder.h"
#include "zoo/zoo.h"

namespace stoker {
namespace {

const Engine& lenet() {
  static const Engine engine = [] {
    const std::string path =
        std::filesystem::temp_directory_path() / fmt::format("compat_test_{}.onnx", getpid());
    EXPECT_TRUE(write_zoo_model("lenet", path));
    const auto model = Model::load(path);
    std::filesystem::remove(path);
    BuildOptions options;
    options.knobs = {{"tactic_timing", "false"}, {"timing_cache", ""}};
    return *build(*model, options);
  }();
  return engine;
}

Engine changed(const std::function<void(EngineContents&)>& change) {
  EngineContents contents = lenet().impl().contents();
  change(contents);
  return Engine(*LoadedEngine::create(std::move(contents), lenet().impl().options()));
}

PlanStep& step_of(EngineContents& contents, Family family) {
  for (PlanStep& step : contents.programs[0].steps) {
    if (static_cast<Family>(step.params.index()) == family) return step;
  }
  ADD_FAILURE() << "no step of family " << family_name(family);
  return contents.programs[0].steps[0];
}

void expect_same_answers(const Engine& engine) {
  Tensor x = *Tensor::allocate(DType::kF32, {3, 1, 28, 28});
  auto values = x.values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.3f * static_cast<float>(i));
  const TensorMap inputs{{engine.inputs()[0].name, x}};
  auto expected = lenet().run(inputs), found = engine.run(inputs);
  ASSERT_TRUE(found) << found.status().message();
  const Tensor &one = expected->begin()->second, &other = found->begin()->second;
  for (int64_t i = 0; i < one.count(); ++i)
    EXPECT_NEAR(one.values<float>()[i], other.values<float>()[i], 1e-4) << i;
}

TEST(Compatibility, RunsAsBuiltWhereItWasBuilt) {
  const Compatibility report = compatibility(lenet());
  EXPECT_TRUE(report.as_built()) << compatibility_text(report);
  EXPECT_EQ(report.steps, lenet().impl().main().steps.size());
  EXPECT_EQ(report.repacked_bytes, 0);
}

TEST(Compatibility, AnotherVersionOfAKernel) {
  std::string name;
  const Engine engine = changed([&](EngineContents& contents) {
    PlanStep& step = step_of(contents, Family::kGemm);
    step.tactic_version = 99;
    name = step.name;
  });
  const Compatibility report = compatibility(engine);
  ASSERT_EQ(report.changes.size(), 1u) << compatibility_text(report);
  EXPECT_EQ(report.changes[0].step, name);
  EXPECT_NE(report.changes[0].reason.find("is not the plan's 99"), std::string::npos);
  EXPECT_TRUE(report.blocked.empty());
  expect_same_answers(engine);
}

TEST(Compatibility, AnUnknownConfig) {
  const Engine engine = changed([](EngineContents& contents) {
    step_of(contents, Family::kConv).config = "tile_of_the_future";
  });
  const Compatibility report = compatibility(engine);
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_NE(report.changes[0].from.find("tile_of_the_future"), std::string::npos);
  expect_same_answers(engine);
}

TEST(Compatibility, WeightsInAnotherPacking) {
  int64_t bytes = 0;
  const Engine engine = changed([&](EngineContents& contents) {
    SymbolValues symbols;
    for (const PlanSymbol& symbol : contents.symbols) symbols[symbol.name] = symbol.optimum;
    for (size_t w = 0; w < contents.weights.size(); ++w) {
      PlanWeight& weight = contents.weights[w];
      if (weight.packing == Packing::kNone) continue;
      const auto use = *use_of_weight(contents, static_cast<int32_t>(w), symbols);
      bytes += weight.bytes.bytes();
      weight.bytes = *unpack_weight(use.desc, use.operand, weight.packing, weight.bytes);
      weight.packing = Packing::kNone;
    }
  });
  ASSERT_GT(bytes, 0);
  const Compatibility report = compatibility(engine);
  EXPECT_EQ(report.repacked_bytes, bytes);
  EXPECT_TRUE(report.changes.empty());
  expect_same_answers(engine);
}

TEST(Compatibility, MissingWeightsBlock) {
  const Engine engine =
      changed([](EngineContents& contents) { contents.weights[0].bytes = Tensor(); });
  const Compatibility report = compatibility(engine);
  EXPECT_FALSE(report.blocked.empty());
  EXPECT_NE(compatibility_text(report).find("does not run: "), std::string::npos);
}

TEST(Compatibility, AnotherMachine) {
  const Engine engine = changed(
      [](EngineContents& contents) { contents.volatile_section.fingerprint["isa"] = "v9"; });
  const Compatibility report = compatibility(engine);
  EXPECT_FALSE(report.as_built());
  EXPECT_NE(compatibility_text(report).find("tuned for another machine"), std::string::npos);
}

}  // namespace
}  // namespace stoker
