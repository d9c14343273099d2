// Weights packed and unpacked again are the canonical bytes; padding is zero, sums are right.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/tactic_harness.h"

namespace stoker::test {
namespace {

Desc gemm_desc(DType dtype, std::vector<int64_t> dims, bool transpose_b) {
  Desc desc;
  GemmParams params;
  params.transpose_b = transpose_b;
  desc.params = params;
  desc.inputs = {TensorDesc{dtype, {1, 1}}, TensorDesc{dtype, std::move(dims)}};
  desc.inputs[1].constant = true;
  return desc;
}

Desc conv_desc(DType dtype, std::vector<int64_t> dims, int64_t group) {
  Desc desc;
  ConvParams params;
  params.group = group;
  desc.params = params;
  desc.inputs = {TensorDesc{dtype, {1, dims[1] * group, 1, 1}}, TensorDesc{dtype, std::move(dims)}};
  desc.inputs[1].constant = true;
  return desc;
}

void expect_inverse(const Desc& desc, Packing packing) {
  std::mt19937 random(7);
  const Tensor weight = random_tensor(desc.inputs[1].dtype, desc.inputs[1].dims, random);
  const auto bytes = packed_bytes(desc, 1, packing);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().message();
  const auto packed = pack_weight(desc, 1, packing, weight);
  ASSERT_TRUE(packed.is_ok()) << packed.status().message();
  EXPECT_EQ(packed->dtype(), DType::kU8);
  EXPECT_EQ(packed->bytes(), *bytes);
  const auto back = unpack_weight(desc, 1, packing, *packed);
  ASSERT_TRUE(back.is_ok()) << back.status().message();
  ASSERT_EQ(back->shape(), weight.shape());
  ASSERT_EQ(back->bytes(), weight.bytes());
  EXPECT_EQ(std::memcmp(back->data(), weight.data(), static_cast<size_t>(weight.bytes())), 0);
}

TEST(Packing, GemmInverse) {
  for (const bool transposed : {false, true}) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{
             {1, 1}, {16, 16}, {17, 33}, {3, 5, 7}, {2, 3, 4, 31}, {0, 5}, {5, 0}}) {
      expect_inverse(gemm_desc(DType::kF32, dims, transposed), Packing::kGemmPanel);
      expect_inverse(gemm_desc(DType::kI8, dims, transposed), Packing::kGemmPanelI8);
      expect_inverse(gemm_desc(DType::kU8, dims, transposed), Packing::kGemmPanelI8);
    }
  }
}

TEST(Packing, ConvInverse) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{
           {16, 16, 3, 3}, {17, 3, 5, 2}, {33, 35, 1, 1}, {8, 4, 7}, {0, 3, 3, 3}}) {
    expect_inverse(conv_desc(DType::kF32, dims, 1), Packing::kConvC16);
    expect_inverse(conv_desc(DType::kF32, dims, 1), Packing::kConvStem);
    for (const DType dtype : {DType::kI8, DType::kU8}) {
      expect_inverse(conv_desc(dtype, dims, 1), Packing::kConvC16I8);
      expect_inverse(conv_desc(dtype, dims, 1), Packing::kConvStemI8);
    }
  }
  for (const DType dtype : {DType::kF32, DType::kI8, DType::kU8}) {
    expect_inverse(conv_desc(dtype, {20, 1, 3, 5}, 20), Packing::kDepthwiseC16);
  }
}

TEST(Packing, ConvTransposeInverseAndRefusals) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{
           {16, 16, 3, 3}, {3, 17, 5, 2}, {35, 33, 1, 1}, {4, 8, 7}, {0, 3, 3, 3}}) {
    Desc desc = conv_desc(DType::kF32, dims, 1);
    EXPECT_FALSE(packed_bytes(desc, 1, Packing::kConvTransposeC16).is_ok());
    std::get<ConvParams>(desc.params).transposed = true;
    EXPECT_FALSE(packed_bytes(desc, 1, Packing::kConvC16).is_ok());
    expect_inverse(desc, Packing::kConvTransposeC16);
  }
}

TEST(Packing, GemmPanelPlacesAndSums) {
  const Desc desc = gemm_desc(DType::kU8, {5, 18}, false);
  std::mt19937 random(1);
  const Tensor weight = random_tensor(DType::kU8, {5, 18}, random);
  const auto packed = pack_weight(desc, 1, Packing::kGemmPanelI8, weight);
  ASSERT_TRUE(packed.is_ok());
  ASSERT_EQ(packed->bytes(), 2 * 2 * 64 + 32 * 4);
  const auto* bytes = static_cast<const int8_t*>(packed->data());
  const auto* sums = reinterpret_cast<const int32_t*>(bytes + 256);
  for (int n = 0; n < 32; ++n) {
    int sum = 0;
    for (int k = 0; k < 8; ++k) {
      const int expected =
          n < 18 && k < 5 ? weight.values<uint8_t>()[static_cast<size_t>(k * 18 + n)] - 128 : 0;
      EXPECT_EQ(bytes[((n / 16 * 2 + k / 4) * 16 + n % 16) * 4 + k % 4], expected);
      sum += expected;
    }
    EXPECT_EQ(sums[n], sum);
  }
}

TEST(Packing, ConvC16Places) {
  const Desc desc = conv_desc(DType::kF32, {18, 19, 2, 3}, 1);
  std::mt19937 random(1);
  const Tensor weight = random_tensor(DType::kF32, {18, 19, 2, 3}, random);
  const auto packed = pack_weight(desc, 1, Packing::kConvC16, weight);
  ASSERT_TRUE(packed.is_ok());
  const auto* values = static_cast<const float*>(packed->data());
  int64_t position = 0;
  for (int ob = 0; ob < 2; ++ob)
    for (int ib = 0; ib < 2; ++ib)
      for (int tap = 0; tap < 6; ++tap)
        for (int i = ib * 16; i < ib * 16 + 16; ++i)
          for (int o = ob * 16; o < ob * 16 + 16; ++o) {
            const float expected =
                o < 18 && i < 19
                    ? weight.values<float>()[static_cast<size_t>((o * 19 + i) * 6 + tap)]
                    : 0.0f;
            ASSERT_EQ(values[position++], expected);
          }
  EXPECT_EQ(position * 4, packed->bytes());
}

TEST(Packing, Refusals) {
  const Desc f32 = gemm_desc(DType::kF32, {4, 4}, false);
  EXPECT_FALSE(packed_bytes(f32, 1, Packing::kGemmPanelI8).is_ok());
  EXPECT_FALSE(packed_bytes(f32, 1, Packing::kConvC16).is_ok());
  EXPECT_FALSE(packed_bytes(f32, 0, Packing::kGemmPanel).is_ok());
  EXPECT_FALSE(packed_bytes(f32, 9, Packing::kNone).is_ok());
  EXPECT_FALSE(packed_bytes(conv_desc(DType::kF32, {8, 2, 3, 3}, 4), 1, Packing::kConvC16).is_ok());
  EXPECT_FALSE(packed_bytes(gemm_desc(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}, false), 1,
                            Packing::kGemmPanel)
                   .is_ok());
  const Tensor other = *Tensor::allocate(DType::kF32, {4, 5});
  EXPECT_FALSE(pack_weight(f32, 1, Packing::kGemmPanel, other).is_ok());
  EXPECT_FALSE(unpack_weight(f32, 1, Packing::kGemmPanel, other).is_ok());
}

}  // namespace
}  // namespace stoker::test
