// Random numbers: the generator against its published test vectors, keys, and moments.
// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stoker {
namespace {

// Known answers of the Random123 distribution, philox 4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox_4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox_4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DependsOnSeedAndRunOrOnTheKey) {
  const auto first = [](RandomKey key, std::optional<uint64_t> seed) {
    return RandomStream(key, seed).bits64();
  };
  EXPECT_EQ(first({1, 2}, std::nullopt), first({1, 2}, std::nullopt));
  EXPECT_NE(first({1, 2}, std::nullopt), first({1, 3}, std::nullopt));
  EXPECT_NE(first({1, 2}, std::nullopt), first({2, 2}, std::nullopt));
  EXPECT_EQ(first({1, 2}, 7), first({5, 2}, 7));
  EXPECT_NE(first({1, 2}, 7), first({1, 3}, 7));
  EXPECT_NE(first({1, 2}, 7), first({1, 2}, 8));
  EXPECT_NE(first({7, 2}, std::nullopt), first({7, 2}, 7));
}

TEST(RandomStream, ReadsFloatAndIntSeeds) {
  const auto first = [](Attributes attributes, uint64_t node) {
    ValueContext context{attributes, {}, {}, {node, 0}};
    return RandomStream::of(context).bits64();
  };
  EXPECT_EQ(first({{"seed", 3.0}}, 1), first({{"seed", 3.0}}, 2));
  EXPECT_NE(first({{"seed", 3.0}}, 1), first({{"seed", 4.0}}, 1));
  EXPECT_EQ(first({{"seed", int64_t{3}}}, 1), first({{"seed", int64_t{3}}}, 2));
  EXPECT_NE(first({{"seed", int64_t{3}}}, 1), first({{"seed", int64_t{4}}}, 1));
  EXPECT_NE(first({}, 1), first({}, 2));
}

TEST(RandomStream, Moments) {
  RandomStream stream({3, 0});
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = stream.uniform(), n = stream.normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
    normal_sum += n;
    normal_squares += n * n;
    fourth += n * n * n * n;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.003);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.003);
  EXPECT_NEAR(normal_sum / kCount, 0, 0.01);
  EXPECT_NEAR(normal_squares / kCount, 1, 0.015);
  EXPECT_NEAR(fourth / kCount, 3, 0.15);
}

// Elements of one drawn tensor.
std::vector<double> drawn(const char* op, const Attributes& attributes,
                          const std::vector<AnyValue>& inputs, RandomKey key) {
  const auto made = evaluate_op_values(*find_op(op), attributes, inputs, 1, key);
  EXPECT_TRUE(made.is_ok()) << made.status().message();
  if (!made.is_ok()) return {};
  const Tensor& tensor = (*made)[0].tensor();
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i)
    values.push_back(load_double(tensor.dtype())(tensor.data(), i));
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

TEST(RandomOps, DrawTheirDistributions) {
  const std::vector<int64_t> shape = {100, 200};
  const auto uniform =
      drawn("random_uniform", {{"shape", shape}, {"low", -2.0}, {"high", 4.0}}, {}, {1, 0});
  EXPECT_NEAR(mean(uniform), 1, 0.05);
  for (const double v : uniform) ASSERT_TRUE(v >= -2 && v <= 4);
  auto normal = drawn("random_normal", {{"shape", shape}, {"mean", 3.0}, {"scale", 2.0}}, {}, {});
  EXPECT_NEAR(mean(normal), 3, 0.05);
  for (double& v : normal) v = (v - 3) * (v - 3);
  EXPECT_NEAR(mean(normal), 4, 0.2);
  const Tensor p = Tensor::from<float>({20000}, std::vector<float>(20000, 0.3f));
  EXPECT_NEAR(mean(drawn("bernoulli", {}, {p}, {2, 0})), 0.3, 0.015);
  // Probabilities 1/8, 2/8, 5/8.
  const Tensor logits = Tensor::from<float>({1, 3}, {0, std::log(2.0f), std::log(5.0f)});
  const auto classes = drawn("multinomial", {{"sample_size", int64_t{20000}}}, {logits}, {3, 0});
  double counts[3] = {};
  for (const double c : classes) counts[static_cast<size_t>(c)] += 1.0 / 20000;
  EXPECT_NEAR(counts[0], 0.125, 0.012);
  EXPECT_NEAR(counts[1], 0.25, 0.015);
  EXPECT_NEAR(counts[2], 0.625, 0.015);
}

TEST(RandomOps, RepeatByKeyAndSeed) {
  const Attributes free = {{"shape", std::vector<int64_t>{4}}};
  Attributes seeded = free;
  seeded.set("seed", 2.0);
  const auto draw = [](const Attributes& attributes, RandomKey key) {
    return drawn("random_normal", attributes, {}, key);
  };
  EXPECT_EQ(draw(free, {1, 1}), draw(free, {1, 1}));
  EXPECT_NE(draw(free, {1, 1}), draw(free, {1, 2}));
  EXPECT_NE(draw(free, {1, 1}), draw(free, {2, 1}));
  EXPECT_EQ(draw(seeded, {1, 1}), draw(seeded, {2, 1}));
  EXPECT_NE(draw(seeded, {1, 1}), draw(seeded, {1, 2}));
}

TEST(PortableMath, AgreesWithTheLibrary) {
  for (const double x : {1e-300, 1e-17, 0.1, 0.5, 0.70710678118654752, 0.9999999, 1.0, 1.0000001,
                         1.4142135623730951, 2.0, 3.0, 1e9, 1e300}) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::max(1.0, std::fabs(std::log(x)))) << x;
  }
  for (const double x : {-745.0, -700.0, -20.5, -1.0, -0.3, 0.0, 1e-9, 0.5, 1.0, 20.25, 700.0}) {
    EXPECT_NEAR(portable_exp(x), std::exp(x), 4e-15 * std::exp(x)) << x;
  }
  EXPECT_EQ(portable_exp(-1e9), 0);
  EXPECT_EQ(portable_exp(1e9), HUGE_VAL);
}

}  // namespace
}  // namespace stoker
