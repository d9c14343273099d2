// Comparison of outputs and the small texts of the command line: tolerances that hold and that do
// not, values that are not numbers, shapes, file names.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "api/check.h"
#include "api/data.h"

namespace stoker {
namespace {

OutputComparison compare(const std::vector<float>& actual, const std::vector<float>& expected,
                         const Tolerance& tolerance = {}) {
  const Shape shape{static_cast<int64_t>(expected.size())};
  return compare_tensors("y", Tensor::from(shape, actual), Tensor::from(shape, expected),
                         tolerance);
}

TEST(Compare, AllCloseUsesBothTolerances) {
  EXPECT_TRUE(compare({1.0f, 100.0f}, {1.0f, 100.05f}).passed);
  const OutputComparison bad = compare({1.0f, 101.0f}, {1.0f, 100.0f});
  EXPECT_FALSE(bad.passed);
  EXPECT_NEAR(bad.max_abs, 1, 1e-6);
  EXPECT_NEAR(bad.max_rel, 0.01, 1e-6);
  EXPECT_NE(bad.reason.find("1 of 2"), std::string::npos) << bad.reason;
  EXPECT_TRUE(compare({1.0f, 101.0f}, {1.0f, 100.0f}, {Metric::kAllClose, 0.0, 0.02}).passed);
  EXPECT_FALSE(compare({0.5f}, {0.0f}, {Metric::kAllClose, 0.4, 1.0}).passed);
}

TEST(Compare, NotANumberEqualsOnlyItself) {
  EXPECT_TRUE(compare({NAN, INFINITY}, {NAN, INFINITY}).passed);
  EXPECT_FALSE(compare({1, INFINITY}, {NAN, INFINITY}).passed);
  EXPECT_FALSE(compare({NAN, INFINITY}, {NAN, -INFINITY}).passed);
  const std::vector<float> finite{1, 2}, broken{1, NAN};
  for (const Metric metric :
       {Metric::kAllClose, Metric::kMaxAbs, Metric::kCosine, Metric::kRange}) {
    EXPECT_FALSE(compare(broken, finite, {metric, 10.0, 10.0}).passed) << metric_name(metric);
  }
}

TEST(Compare, EveryMetricHoldsAndFails) {
  EXPECT_TRUE(compare({1.4f, 2}, {1, 2}, {Metric::kMaxAbs, 0.5, {}}).passed);
  EXPECT_FALSE(compare({1.6f, 2}, {1, 2}, {Metric::kMaxAbs, 0.5, {}}).passed);
  EXPECT_TRUE(compare({2, 4}, {1, 2}, {Metric::kCosine, {}, 1e-6}).passed);
  EXPECT_FALSE(compare({2, -4}, {1, 2}, {Metric::kCosine, {}, 0.5}).passed);
  EXPECT_FALSE(compare({0, 0}, {1, 2}, {Metric::kCosine, {}, 0.5}).passed);
  EXPECT_TRUE(compare({0.5f, 10}, {0, 10}, {Metric::kRange, {}, 0.06}).passed);
  EXPECT_FALSE(compare({0.5f, 10}, {0, 10}, {Metric::kRange, {}, 0.04}).passed);
  EXPECT_TRUE(compare({0.1f, 0.7f, 0.2f}, {0, 5, 1}, {Metric::kTop1, {}, {}}).passed);
  EXPECT_FALSE(compare({0.1f, 0.7f, 0.8f}, {0, 5, 1}, {Metric::kTop1, {}, {}}).passed);
}

TEST(Compare, ShapeAndDtypeMustAgree) {
  const Tensor a = Tensor::from<float>({2}, {1, 2}), b = Tensor::from<float>({1, 2}, {1, 2});
  EXPECT_FALSE(compare_tensors("y", a, b, {}).passed);
  EXPECT_FALSE(compare_tensors("y", a, Tensor::from<double>({2}, {1, 2}), {}).passed);
}

TEST(Compare, IntegersAreExactToTheLastBit) {
  const auto tensor = [](int64_t value) { return Tensor::scalar_i64(value); };
  const int64_t large = int64_t{1} << 60;
  EXPECT_TRUE(compare_tensors("y", tensor(large), tensor(large), {}).passed);
  EXPECT_FALSE(compare_tensors("y", tensor(large + 1), tensor(large), {}).passed);
  EXPECT_FALSE(compare_tensors("y", tensor(4), tensor(3), {}).passed);
  EXPECT_TRUE(compare_tensors("y", tensor(4), tensor(3), {Metric::kAllClose, 1.0, {}}).passed);
  const auto words = [](const char* text) { return *Tensor::from_strings({1}, {text}); };
  EXPECT_TRUE(compare_tensors("y", words("cat"), words("cat"), {}).passed);
  EXPECT_FALSE(compare_tensors("y", words("cat"), words("dog"), {}).passed);
}

TEST(Data, FixedShapes) {
  const auto shape = parse_fixed_shape("input:0:8x3x224x224");
  ASSERT_TRUE(shape.is_ok());
  EXPECT_EQ(shape->input, "input:0");
  EXPECT_EQ(shape->shape, (Shape{8, 3, 224, 224}));
  EXPECT_EQ(parse_fixed_shape("x:")->shape, Shape{});
  for (const char* text : {"", "x", ":1x2", "x:1x", "x:1xx2", "x:ax2", "x:-1", "x:1,2",
                           "x:9223372036854775807x9", "x:1x2..3x4"}) {
    EXPECT_FALSE(parse_fixed_shape(text).is_ok()) << text;
  }
}

TEST(Data, NamesOfFilesStayInTheirFolder) {
  EXPECT_EQ(safe_file_name("conv/out:0"), "conv_out_0");
  EXPECT_EQ(safe_file_name("a.b-c_d"), "a.b-c_d");
  EXPECT_EQ(safe_file_name("../../etc"), ".._.._etc");
  EXPECT_EQ(safe_file_name(".."), ".._");
  EXPECT_EQ(safe_file_name(""), "_");
}

TEST(Data, RandomTensorsRepeatAndDifferByNameAndSeed) {
  const auto bytes = [](const char* name, uint64_t seed) {
    const auto tensor = random_tensor(name, DType::kF32, {16}, seed);
    const auto values = tensor->values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(bytes("x", 1), bytes("x", 1));
  EXPECT_NE(bytes("x", 1), bytes("x", 2));
  EXPECT_NE(bytes("x", 1), bytes("y", 1));
  EXPECT_FALSE(random_tensor("x", DType::kString, {1}, 0).is_ok());
}

}  // namespace
}  // namespace stoker
