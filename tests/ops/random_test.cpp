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

TEST(PortableLog, AgreesWithTheLibrary) {
  for (const double x : {1e-300, 1e-17, 0.1, 0.5, 0.70710678118654752, 0.9999999, 1.0, 1.0000001,
                         1.4142135623730951, 2.0, 3.0, 1e9, 1e300}) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::max(1.0, std::fabs(std::log(x)))) << x;
  }
}

}  // namespace
}  // namespace stoker
