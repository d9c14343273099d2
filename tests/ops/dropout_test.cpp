// Dropout draws random numbers, so that no table can hold all of what it gives: with a seed the
// first run drops what the ONNX reference evaluator drops, the others follow from the key.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/op.h"

namespace stoker {
namespace {

Tensor boolean(bool value) {
  return *Tensor::from_bytes(DType::kBool, {}, std::as_bytes(std::span(&value, 1)));
}

struct Dropped {
  Tensor y, mask;
};

Dropped dropout(const Tensor& x, double ratio, bool training, const Attributes& attributes = {},
                RandomKey key = {}) {
  const std::vector<AnyValue> inputs = {x, Tensor::from<double>({}, {ratio}), boolean(training)};
  auto outputs = evaluate_op_values(*find_op("dropout"), attributes, inputs, 2, key);
  EXPECT_TRUE(outputs.is_ok()) << outputs.status().message();
  if (!outputs.is_ok()) return {};
  return {(*outputs)[0].tensor(), (*outputs)[1].tensor()};
}

Tensor ones(int64_t n) { return Tensor::from<float>({n}, std::vector<float>(n, 1.0f)); }
std::vector<bool> kept(const Dropped& d) {
  const auto values = d.mask.values<bool>();
  return {values.begin(), values.end()};
}

TEST(Dropout, KeepsEverythingOutsideTraining) {
  for (const auto& [ratio, training] : {std::pair(0.75, false), std::pair(0.0, true)}) {
    const Dropped d = dropout(ones(64), ratio, training);
    for (const float v : d.y.values<float>()) EXPECT_EQ(v, 1);
    for (const bool k : d.mask.values<bool>()) EXPECT_TRUE(k);
  }
}

TEST(Dropout, FirstSeededRunIsTheReferenceEvaluators) {
  // numpy.random.RandomState(42).uniform(0, 1, 12) >= 0.5
  const std::vector<bool> expected = {false, true, true, true, false, false,
                                      false, true, true, true, false, true};
  const Dropped d = dropout(ones(12), 0.5, true, {{"seed", int64_t{42}}});
  EXPECT_EQ(kept(d), expected);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(d.y.values<float>()[i], expected[i] ? 2 : 0);
}

TEST(Dropout, DropsTheShareThatTheRatioSays) {
  constexpr int64_t kCount = 20000;
  for (const double ratio : {0.1, 0.5, 0.9}) {
    const Dropped d = dropout(ones(kCount), ratio, true, {}, {3, 7});
    const std::vector<bool> mask = kept(d);
    const auto left = static_cast<double>(std::count(mask.begin(), mask.end(), true));
    EXPECT_NEAR(left / kCount, 1 - ratio, 0.015);
  }
}

TEST(Dropout, SameKeySameNumbers) {
  const Tensor x = ones(256);
  const std::vector<bool> first = kept(dropout(x, 0.5, true, {}, {1, 0}));
  EXPECT_EQ(kept(dropout(x, 0.5, true, {}, {1, 0})), first);
  EXPECT_NE(kept(dropout(x, 0.5, true, {}, {1, 1})), first);
  EXPECT_NE(kept(dropout(x, 0.5, true, {}, {2, 0})), first);
  const Attributes seeded = {{"seed", int64_t{5}}};
  EXPECT_EQ(kept(dropout(x, 0.5, true, seeded, {1, 0})),
            kept(dropout(x, 0.5, true, seeded, {2, 0})));
  EXPECT_NE(kept(dropout(x, 0.5, true, seeded, {1, 0})),
            kept(dropout(x, 0.5, true, seeded, {1, 1})));
}

TEST(Dropout, RefusesOtherRatios) {
  for (const double ratio : {-0.5, 1.0, 2.0}) {
    const std::vector<AnyValue> inputs = {ones(2), Tensor::from<double>({}, {ratio}),
                                          boolean(true)};
    const auto outputs = evaluate_op_values(*find_op("dropout"), {}, inputs, 2);
    ASSERT_FALSE(outputs.is_ok());
    EXPECT_NE(outputs.status().message().find("ratio is"), std::string::npos);
  }
}

}  // namespace
}  // namespace stoker
