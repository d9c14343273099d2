// The oracle: element by element it agrees with the whole reference run, gemm and conv with zero
// points and epilogues agree with direct loops, and the descs' keys, pads and work are what they
// should be.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference.h"

#include <set>

#include "base/numeric.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

TensorDesc operand(std::vector<int64_t> dims, DType dtype = DType::kF32,
                   Layout layout = Layout::kPlain) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  desc.layout = layout;
  return desc;
}

// acc * 0.5 + bias along the last dim
RegionProgram half_plus_bias(int rank, DType accumulator) {
  RegionProgram p;
  RegionOperand all, last;
  for (int d = 0; d < rank; ++d) {
    all.dim_of.push_back(static_cast<int8_t>(d));
    last.dim_of.push_back(d == rank - 1 ? 0 : -1);
  }
  p.rank = rank;
  p.reduced.assign(static_cast<size_t>(rank), 0);
  p.inputs = {all, last};
  p.instructions = {{RegionOp::kInput, accumulator, {0, -1, -1}},
                    {RegionOp::kInput, DType::kF32, {1, -1, -1}},
                    {RegionOp::kCast, DType::kF32, {0, -1, -1}},
                    {RegionOp::kConstant, DType::kF32, {-1, -1, -1}, 0.5},
                    {RegionOp::kMul, DType::kF32, {2, 3, -1}},
                    {RegionOp::kAdd, DType::kF32, {4, 1, -1}}};
  p.outputs = {{5, all}};
  return p;
}

std::vector<Buffer> fill(const Desc& desc) {
  std::mt19937 random(23);
  std::vector<Buffer> buffers;
  for (const TensorDesc& input : desc.inputs)
    buffers.push_back(stored(input, random_tensor(input.dtype, input.dims, random)));
  return buffers;
}

double read(const TensorDesc& desc, const Buffer& buffer, int64_t index) {
  return load_double(desc.dtype)(buffer.data(), stored_position(desc, index));
}

std::vector<double> elements(const Desc& desc, const std::vector<Buffer>& inputs,
                             const std::vector<int64_t>& wanted) {
  std::vector<const void*> pointers;
  for (const Buffer& buffer : inputs) pointers.push_back(buffer.data());
  const auto result = reference_elements(desc, pointers.data(), 0, wanted);
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return result.is_ok() ? *result : std::vector<double>(wanted.size(), NAN);
}

// Every third element alone against the whole run.
void expect_elements_agree(const Desc& desc) {
  const std::vector<Buffer> inputs = fill(desc);
  const TensorDesc& y = desc.outputs[0];
  const Buffer output(stored_count(y) * element_bytes(y.dtype));
  ASSERT_TRUE(launch_cut(*reference_of(desc.family()), desc, inputs, output, 1).is_ok());
  std::vector<int64_t> wanted;
  for (int64_t i = logical_count(y) - 1; i >= 0; i -= 3) wanted.push_back(i);
  const std::vector<double> values = elements(desc, inputs, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(values[i], read(y, output, wanted[i]), 1e-6 * (1 + std::fabs(values[i])))
        << "element " << wanted[i];
  }
}

TEST(Reference, GemmWithZeroPointsTransposesAndEpilogue) {
  for (const bool integer : {false, true}) {
    for (const bool transposed : {false, true}) {
      const int64_t m = 5, n = 7, k = 9;
      GemmParams p;
      p.transpose_a = p.transpose_b = transposed;
      if (integer) p.a_zero = 100, p.b_zero = -3;
      p.epilogue = half_plus_bias(3, integer ? DType::kI32 : DType::kF32);
      const DType a_type = integer ? DType::kU8 : DType::kF32,
                  b_type = integer ? DType::kI8 : DType::kF32;
      const auto a_dims =
          transposed ? std::vector<int64_t>{2, k, m} : std::vector<int64_t>{2, m, k};
      const auto b_dims = transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
      const Desc desc{p,
                      {operand(a_dims, a_type), operand(b_dims, b_type), operand({n})},
                      {operand({2, m, n})}};
      const std::vector<Buffer> inputs = fill(desc);
      const Buffer output(2 * m * n * 4);
      const Status status = launch_cut(*reference_of(Family::kGemm), desc, inputs, output, 1);
      ASSERT_TRUE(status.is_ok()) << status.message();
      for (int64_t i = 0; i < 2 * m * n; ++i) {
        const int64_t column = i % n, row = i / n % m, batch = i / n / m;
        double sum = 0;
        for (int64_t j = 0; j < k; ++j) {
          const double a = read(desc.inputs[0], inputs[0],
                                transposed ? (batch * k + j) * m + row : (batch * m + row) * k + j);
          const double b =
              read(desc.inputs[1], inputs[1], transposed ? column * k + j : j * n + column);
          sum += (a - p.a_zero) * (b - p.b_zero);
        }
        const double expected = sum * 0.5 + read(desc.inputs[2], inputs[2], column);
        ASSERT_NEAR(read(desc.outputs[0], output, i), expected, 1e-6 * (1 + std::fabs(expected)));
      }
      expect_elements_agree(desc);
    }
  }
}

TEST(Reference, ConvolutionInBlocksWithGroupsAndZeroPoint) {
  for (const Layout layout : {Layout::kPlain, Layout::kC16}) {
    ConvParams p;
    p.strides = {2, 1};
    p.dilations = {1, 2};
    p.pads = {1, 2, 1, 2};
    p.group = 2;
    p.x_zero = 7;
    const int64_t c = 6, o = 18, h = 7, w = 6, oh = 4, ow = 6;
    const Desc desc{
        p,
        {operand({2, c, h, w}, DType::kU8, layout), operand({o, c / 2, 3, 3}, DType::kI8)},
        {operand({2, o, oh, ow}, DType::kI32, layout)}};
    const std::vector<Buffer> inputs = fill(desc);
    const TensorDesc& y = desc.outputs[0];
    const Buffer output(stored_count(y) * 4, 0xcc);
    const Status status = launch_cut(*reference_of(Family::kConv), desc, inputs, output, 1);
    ASSERT_TRUE(status.is_ok()) << status.message();
    logical(y, output);  // checks the padding lanes
    for (int64_t i = 0; i < logical_count(y); ++i) {
      const int64_t px = i % ow, py = i / ow % oh, channel = i / ow / oh % o,
                    image = i / ow / oh / o;
      double sum = 0;
      for (int64_t ic = 0; ic < c / 2; ++ic) {
        for (int64_t t = 0; t < 9; ++t) {
          const int64_t iy = py * 2 - 1 + t / 3, ix = px - 2 + t % 3 * 2;
          if (iy < 0 || ix < 0 || iy >= h || ix >= w) continue;
          const int64_t source = channel / (o / 2) * (c / 2) + ic;
          sum += (read(desc.inputs[0], inputs[0], ((image * c + source) * h + iy) * w + ix) - 7) *
                 read(desc.inputs[1], inputs[1], (channel * (c / 2) + ic) * 9 + t);
        }
      }
      ASSERT_EQ(read(y, output, i), sum) << "element " << i;
    }
    expect_elements_agree(desc);
  }
}

TEST(Reference, ElementsOfTheOtherFamilies) {
  PoolParams pool;
  pool.kind = PoolParams::Kind::kAverage;
  pool.kernel = {3, 3}, pool.strides = {2, 2}, pool.dilations = {1, 1}, pool.pads = {1, 1, 1, 1};
  expect_elements_agree(Desc{pool,
                             {operand({2, 5, 8, 9}, DType::kF32, Layout::kC16)},
                             {operand({2, 5, 4, 5}, DType::kF32, Layout::kC16)}});
  CopyParams copy;
  copy.perm = {2, 0, 1};
  expect_elements_agree(Desc{copy, {operand({3, 4, 5})}, {operand({5, 3, 4})}});
  RegionParams region;
  region.program = half_plus_bias(2, DType::kF32);
  region.extents = {6, 11};
  expect_elements_agree(Desc{region, {operand({6, 11}), operand({11})}, {operand({6, 11})}});
  FallbackParams fallback{"softsign", {}};
  expect_elements_agree(Desc{fallback, {operand({6, 11})}, {operand({6, 11})}});
}

TEST(Reference, RefusesUnknownOpsAndElements) {
  const Desc unknown{FallbackParams{"no_such_op", {}}, {operand({2})}, {operand({2})}};
  EXPECT_NE(reference_of(Family::kFallback)->supports(unknown).message().find("no_such_op"),
            std::string::npos);
  CopyParams copy;
  copy.perm = {0};
  const Desc desc{copy, {operand({4})}, {operand({4})}};
  const float data[4] = {};
  const void* inputs[] = {data};
  const int64_t outside[] = {4};
  EXPECT_FALSE(reference_elements(desc, inputs, 0, outside).is_ok());
  EXPECT_FALSE(reference_elements(desc, inputs, 1, {}).is_ok());
}

TEST(Registry, PrefersTheHighestLevelAndEndsWithTheReference) {
  for (const IsaLevel level : levels()) {
    const TacticRegistry registry(level);
    for (int f = 0; f < kFamilyCount; ++f) {
      const auto& family = registry.family(static_cast<Family>(f));
      ASSERT_FALSE(family.empty());
      std::set<std::string> names;
      for (const Tactic* tactic : family) {
        EXPECT_TRUE(names.insert(tactic->name).second) << tactic->name << " twice";
        EXPECT_EQ(tactic->reference, tactic == family.back()) << tactic->name;
        EXPECT_EQ(registry.find(tactic->name), tactic);
      }
    }
    EXPECT_EQ(registry.find("region_tile"), find_tactic(level, "region_tile"));
    EXPECT_EQ(registry.find("nothing"), nullptr);
  }
}

TEST(Desc, KeysDifferWhereDescsDiffer) {
  const Desc base{GemmParams{}, {operand({4, 8}), operand({8, 3})}, {operand({4, 3})}};
  std::set<std::string> keys{desc_key(base)};
  EXPECT_EQ(desc_key(base), desc_key(Desc(base)));
  const auto differs = [&](auto&& change) {
    Desc other = base;
    change(other);
    EXPECT_TRUE(keys.insert(desc_key(other)).second) << desc_key(other);
  };
  differs([](Desc& d) { std::get<GemmParams>(d.params).transpose_b = true; });
  differs([](Desc& d) { std::get<GemmParams>(d.params).b_zero = 1; });
  differs(
      [](Desc& d) { std::get<GemmParams>(d.params).epilogue = half_plus_bias(2, DType::kF32); });
  differs([](Desc& d) { d.inputs[1].constant = true; });
  differs([](Desc& d) { d.inputs[1].packing = Packing::kGemmPanel; });
  differs([](Desc& d) { d.inputs[0].dims[0] = 5; });
  differs([](Desc& d) { d.outputs[0].dtype = DType::kBF16; });
  differs([](Desc& d) { d.outputs[0].layout = Layout::kC16; });
  EXPECT_EQ(desc_work(base).flops, 2.0 * 4 * 8 * 3);
  EXPECT_EQ(desc_work(base).bytes, 4.0 * (32 + 24 + 12));
}

TEST(Desc, PadsFollowTheOnnxRules) {
  using Pad = ConvParams::AutoPad;
  const auto pads = [](Pad pad, std::vector<int64_t> in, std::vector<int64_t> k,
                       std::vector<int64_t> s, std::vector<int64_t> d) {
    return resolve_pads(Family::kConv, pad, {9, 9}, in, k, s, d);
  };
  EXPECT_EQ(pads(Pad::kExplicit, {5}, {3}, {1}, {1}), (std::vector<int64_t>{9, 9}));
  EXPECT_EQ(pads(Pad::kValid, {5}, {3}, {1}, {1}), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(pads(Pad::kSameUpper, {5}, {4}, {1}, {1}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(pads(Pad::kSameLower, {5}, {4}, {1}, {1}), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(pads(Pad::kSameUpper, {6}, {3}, {2}, {1}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(pads(Pad::kSameUpper, {5}, {3}, {1}, {2}), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(pads(Pad::kSameUpper, {5}, {1}, {3}, {1}), (std::vector<int64_t>{0, 0}));
  // Strides beyond the window skip elements, convolutions and pools each in their way.
  EXPECT_EQ(pads(Pad::kSameUpper, {10}, {2}, {5}, {1}), (std::vector<int64_t>{-1, 0}));
  EXPECT_EQ(pads(Pad::kSameLower, {10}, {2}, {5}, {1}), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(resolve_pads(Family::kPool, Pad::kSameLower, {}, {10}, {2}, {5}, {1}),
            (std::vector<int64_t>{-1, 0}));
}

}  // namespace
}  // namespace stoker::test
