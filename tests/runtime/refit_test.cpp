// Engine::refit: one constant or several, folded ones in any order, engines left as they were.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "stoker/builder.h"
#include "zoo/zoo.h"

namespace stoker {
namespace {

class RefitTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto path = std::filesystem::temp_directory_path() /
                      ("stoker_refit_test_" + std::to_string(getpid()) + ".onnx");
    ASSERT_TRUE(write_zoo_model("mobilenetv2", path.string()));
    const auto model = Model::load(path.string());
    std::filesystem::remove(path);
    ASSERT_TRUE(model) << model.status().message();
    BuildOptions options;
    options.knobs = {{"tactic_timing", "false"}, {"self_check", "false"}};
    options.shapes = {"x:1x3x64x64"};
    options.refittable = true;
    auto engine = build(*model, options);
    ASSERT_TRUE(engine) << engine.status().message();
    engine_ = std::make_unique<Engine>(*engine);
  }
  static void TearDownTestSuite() { engine_.reset(); }

  // The first constant whose name ends so, with values that run through [-0.5, 0.5).
  static std::pair<const std::string, Tensor> changed(const std::string& ending, float shift = 0) {
    for (const WeightInfo& info : engine_->weights()) {
      if (info.name.size() < ending.size() || !info.frozen.empty()) continue;
      if (info.name.compare(info.name.size() - ending.size(), ending.size(), ending) != 0) continue;
      Tensor value = *Tensor::allocate(info.dtype, info.shape);
      auto values = value.values<float>();
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 97) / 97.0f - 0.5f + shift;
      return {info.name, value};
    }
    ADD_FAILURE() << "no constant ends in " << ending;
    return {};
  }
  static std::vector<float> answer(const Engine& engine) {
    Tensor x = *Tensor::allocate(DType::kF32, {1, 3, 64, 64});
    auto values = x.values<float>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 31) / 31.0f;
    const auto outputs = engine.run({{"x", x}});
    EXPECT_TRUE(outputs) << outputs.status().message();
    if (!outputs) return {};
    const auto found = outputs->begin()->second.values<float>();
    return {found.begin(), found.end()};
  }

  static std::unique_ptr<Engine> engine_;
};
std::unique_ptr<Engine> RefitTest::engine_;

TEST_F(RefitTest, FoldedConstantsTogetherOrOneByOne) {
  const auto before = answer(*engine_);
  const std::string digest = *engine_->digest();
  const TensorMap both = {changed("0.0.weight"), changed("0.1.weight", 1)};
  ASSERT_EQ(both.size(), 2u);
  const auto together = engine_->refit(both);
  ASSERT_TRUE(together) << together.status().message();
  auto one = engine_->refit({*both.begin()});
  ASSERT_TRUE(one) << one.status().message();
  EXPECT_NE(answer(*one), answer(*together));
  auto other = one->refit({*both.rbegin()});
  ASSERT_TRUE(other) << other.status().message();
  EXPECT_EQ(answer(*other), answer(*together));
  EXPECT_NE(answer(*together), before);
  // The engine itself, and its pooled sessions, stay as they were.
  EXPECT_EQ(answer(*engine_), before);
  EXPECT_EQ(*engine_->digest(), digest);
}

TEST_F(RefitTest, SharesWhatDoesNotChange) {
  const auto made = engine_->refit({changed("0.1.bias")});
  ASSERT_TRUE(made) << made.status().message();
  EXPECT_EQ(made->memory({{1, 3, 64, 64}})->refit_bytes,
            engine_->memory({{1, 3, 64, 64}})->refit_bytes);
  EXPECT_GT(made->memory({{1, 3, 64, 64}})->refit_bytes, 0);
  EXPECT_EQ(made->memory({{1, 3, 64, 64}})->weights_bytes,
            engine_->memory({{1, 3, 64, 64}})->weights_bytes);
}

TEST_F(RefitTest, RefusesAllAtOnce) {
  auto [name, value] = changed("0.0.weight");
  const auto flat = value.reshaped({value.count()});
  const auto refused = engine_->refit({{name, *flat}, {"none", value}});
  ASSERT_FALSE(refused);
  const std::string message = refused.status().message();
  EXPECT_NE(message.find("2 constant(s) cannot be refitted"), std::string::npos) << message;
  EXPECT_NE(message.find("'none': the model has no such constant"), std::string::npos) << message;
  EXPECT_NE(message.find("is given, expected f32["), std::string::npos) << message;
}

}  // namespace
}  // namespace stoker
