// Conversions of single elements: every 16-bit float there and back, known codes of the small
// formats, single rounding from f64, saturation, packed integers.
// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stoker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double through(DType dtype, double value) {
  uint64_t memory = 0;
  store_double(dtype)(&memory, 0, value);
  return load_double(dtype)(&memory, 0);
}

TEST(Numeric, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    } else {
      ASSERT_EQ(f32_to_f16(value), bits);
    }
    const float wide = bf16_to_f32(static_cast<uint16_t>(bits));
    if (!std::isnan(wide)) {
      ASSERT_EQ(f32_to_bf16(wide), bits);
    }
  }
}

// Between two neighbouring halves the rounding must go to the nearer one, ties to the even code.
TEST(Numeric, HalvesRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = f16_to_f32(static_cast<uint16_t>(bits));
    const double high = f16_to_f32(static_cast<uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    const double even = bits % 2 == 0 ? low : high;
    ASSERT_EQ(through(DType::kF16, middle), even) << bits;
    ASSERT_EQ(through(DType::kF16, std::nextafter(middle, -kInfinity)), low) << bits;
    ASSERT_EQ(through(DType::kF16, std::nextafter(middle, kInfinity)), high) << bits;
    ASSERT_EQ(through(DType::kF16, -middle), -even) << bits;
  }
}

TEST(Numeric, HalvesOverflowToInfinity) {
  EXPECT_EQ(through(DType::kF16, 65504), 65504);
  EXPECT_EQ(through(DType::kF16, 65519.999), 65504);
  EXPECT_EQ(through(DType::kF16, 65520), kInfinity);
  EXPECT_EQ(through(DType::kF16, -1e300), -kInfinity);
  EXPECT_EQ(through(DType::kBF16, 3.4e38), kInfinity);
  EXPECT_EQ(through(DType::kBF16, 1e300), kInfinity);
  EXPECT_EQ(through(DType::kBF16, 1.00390625), 1.0);  // a tie: to even
  EXPECT_EQ(through(DType::kBF16, 1.0039062501), 1.0078125);
  EXPECT_EQ(through(DType::kF16, 0x1p-25), 0);  // a tie with zero
  EXPECT_EQ(through(DType::kF16, 0x1.0001p-25), 0x1p-24);
}

// {code, value} from the formats' definitions.
TEST(Numeric, SmallFloatsHaveTheirDefinedValues) {
  const struct {
    DType dtype;
    uint8_t code;
    double value;
  } known[] = {
      {DType::kF8E4M3FN, 0x00, 0},         {DType::kF8E4M3FN, 0x01, 0x1p-9},
      {DType::kF8E4M3FN, 0x08, 0x1p-6},    {DType::kF8E4M3FN, 0x38, 1},
      {DType::kF8E4M3FN, 0x7e, 448},       {DType::kF8E4M3FN, 0x7f, kNan},
      {DType::kF8E4M3FNUZ, 0x01, 0x1p-10}, {DType::kF8E4M3FNUZ, 0x40, 1},
      {DType::kF8E4M3FNUZ, 0x7f, 240},     {DType::kF8E4M3FNUZ, 0x80, kNan},
      {DType::kF8E5M2, 0x01, 0x1p-16},     {DType::kF8E5M2, 0x3c, 1},
      {DType::kF8E5M2, 0x7b, 57344},       {DType::kF8E5M2, 0x7c, kInfinity},
      {DType::kF8E5M2, 0x7d, kNan},        {DType::kF8E5M2FNUZ, 0x01, 0x1p-17},
      {DType::kF8E5M2FNUZ, 0x40, 1},       {DType::kF8E5M2FNUZ, 0x7f, 57344},
      {DType::kF8E5M2FNUZ, 0x80, kNan},    {DType::kF8E8M0, 0x7f, 1},
      {DType::kF8E8M0, 0x00, 0x1p-127},    {DType::kF8E8M0, 0xff, kNan},
      {DType::kF4E2M1, 0x01, 0.5},         {DType::kF4E2M1, 0x02, 1},
      {DType::kF4E2M1, 0x07, 6},           {DType::kF4E2M1, 0x0f, -6},
  };
  for (const auto& k : known) {
    const double loaded = load_double(k.dtype)(&k.code, 0);
    if (std::isnan(k.value)) {
      EXPECT_TRUE(std::isnan(loaded)) << dtype_name(k.dtype) << " " << int{k.code};
    } else {
      EXPECT_EQ(loaded, k.value) << dtype_name(k.dtype) << " " << int{k.code};
    }
  }
}

TEST(Numeric, EverySmallFloatSurvivesTheWayThroughDouble) {
  for (const DType dtype :
       {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0}) {
    for (int code = 0; code < 256; ++code) {
      const uint8_t byte = static_cast<uint8_t>(code);
      const double value = load_double(dtype)(&byte, 0);
      uint8_t stored = 0;
      store_double_unsaturated(dtype)(&stored, 0, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(load_double(dtype)(&stored, 0)));
      } else if (!(dtype == DType::kF8E8M0 && code == 255)) {
        EXPECT_EQ(int{stored}, code) << dtype_name(dtype);
      }
    }
  }
}

TEST(Numeric, SmallFloatsSaturateUnlessAskedNotTo) {
  EXPECT_EQ(through(DType::kF8E4M3FN, 1e6), 448);
  EXPECT_EQ(through(DType::kF8E4M3FN, -kInfinity), -448);
  EXPECT_EQ(through(DType::kF8E5M2, kInfinity), 57344);
  EXPECT_TRUE(std::isnan(through(DType::kF8E5M2, kNan)));
  uint8_t code = 0;
  store_double_unsaturated(DType::kF8E5M2)(&code, 0, 1e6);
  EXPECT_EQ(code, 0x7c);
  store_double_unsaturated(DType::kF8E4M3FN)(&code, 0, -1e6);
  EXPECT_EQ(code, 0xff);
  store_double(DType::kF8E4M3FNUZ)(&code, 0, -0.0);
  EXPECT_EQ(code, 0x00);  // 0x80 would be NaN
}

TEST(Numeric, IntegersTruncateAndSaturate) {
  EXPECT_EQ(through(DType::kI8, -1.9), -1);
  EXPECT_EQ(through(DType::kI8, 1000), 127);
  EXPECT_EQ(through(DType::kU8, -5), 0);
  EXPECT_EQ(through(DType::kI4, -100), -8);
  EXPECT_EQ(through(DType::kU2, 9), 3);
  EXPECT_EQ(through(DType::kI32, kNan), 0);
  int64_t wide = 0;
  store_double(DType::kI64)(&wide, 0, 1e19);
  EXPECT_EQ(wide, INT64_MAX);
  uint64_t natural = 0;
  store_double(DType::kU64)(&natural, 0, 1e20);
  EXPECT_EQ(natural, UINT64_MAX);
  store_int(DType::kU64)(&natural, 0, -1);
  EXPECT_EQ(natural, UINT64_MAX);
  EXPECT_EQ(load_int(DType::kU64)(&natural, 0), -1);
}

TEST(Numeric, PackedElementsLieLowBitsFirst) {
  uint8_t bytes[2] = {};
  for (int64_t i = 0; i < 3; ++i) store_int(DType::kI4)(bytes, i, i - 2);
  EXPECT_EQ(bytes[0], 0xfe);
  EXPECT_EQ(bytes[1], 0x00);
  store_int(DType::kI4)(bytes, 0, 7);
  EXPECT_EQ(bytes[0], 0xf7);  // the neighbour stays
  EXPECT_EQ(load_int(DType::kI4)(bytes, 1), -1);
  uint8_t pairs = 0;
  for (int64_t i = 0; i < 4; ++i) store_int(DType::kU2)(&pairs, i, i);
  EXPECT_EQ(pairs, 0xe4);
  EXPECT_EQ(load_int(DType::kI2)(&pairs, 2), -2);
}

TEST(Numeric, RangesOfIntegers) {
  EXPECT_EQ(integer_min(DType::kI8), -128);
  EXPECT_EQ(integer_max(DType::kU16), 65535);
  EXPECT_EQ(integer_min(DType::kU32), 0);
  EXPECT_EQ(integer_max(DType::kI4), 7);
  EXPECT_EQ(integer_min(DType::kI64), INT64_MIN);
  EXPECT_EQ(load_double(DType::kString), nullptr);
  EXPECT_EQ(store_int(DType::kC64), nullptr);
}

}  // namespace
}  // namespace stoker
