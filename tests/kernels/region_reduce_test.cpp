// Region programs with reductions, in both layouts, over inputs that they overwrite, and refusals.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/region_harness.h"

namespace stoker::test {
namespace {

Desc softmax(std::vector<int64_t> dims, std::vector<int> axes) {
  Builder b(static_cast<int>(dims.size()), std::move(axes));
  const int32_t x = b.input(DType::kF32);
  const int32_t e = b.f(Op::kExp, b.f(Op::kSub, x, b.f(Op::kReduceMax, x)));
  b.output(b.f(Op::kDiv, e, b.f(Op::kReduceSum, e)));
  return region_desc(b, dims, {operand(dims)}, {operand(dims)});
}

// Layer norm over the axes, with a scale and bias of their extents, and the mean as a second
// output.
Desc layer_norm(const std::vector<int64_t>& dims, const std::vector<int>& axes,
                const std::vector<int>& scaled) {
  Builder b(static_cast<int>(dims.size()), axes);
  RegionOperand scale_map, mean_map;
  std::vector<int64_t> scale_dims, mean_dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool walks = std::find(scaled.begin(), scaled.end(), static_cast<int>(d)) != scaled.end();
    scale_map.dim_of.push_back(walks ? static_cast<int8_t>(scale_dims.size()) : -1);
    if (walks) scale_dims.push_back(dims[d]);
    mean_map.dim_of.push_back(b.p.reduced[d] ? -1 : static_cast<int8_t>(mean_dims.size()));
    if (!b.p.reduced[d]) mean_dims.push_back(dims[d]);
  }
  const int32_t x = b.input(DType::kF32);
  const int32_t scale = b.input(DType::kF32, scale_map), bias = b.input(DType::kF32, scale_map);
  const int32_t mean = b.f(Op::kReduceMean, x);
  const int32_t centered = b.f(Op::kSub, x, mean);
  const int32_t variance = b.f(Op::kReduceMean, b.f(Op::kMul, centered, centered));
  const int32_t deviation = b.f(Op::kSqrt, b.f(Op::kAdd, variance, b.constant(1e-5)));
  b.output(b.f(Op::kAdd, b.f(Op::kMul, b.f(Op::kDiv, centered, deviation), scale), bias));
  b.output(mean, mean_map);
  return region_desc(b, dims, {operand(dims), operand(scale_dims), operand(scale_dims)},
                     {operand(dims), operand(mean_dims)});
}

TEST(RegionTile, SoftmaxOverAnyAxisAndLength) {
  for (const int64_t n : {1, 3, 10, 16, 49, 64, 100, 128, 1000, 1500, 5000, 40000, 100003}) {
    SCOPED_TRACE(n);
    expect_agrees(softmax({n > 5000 ? 2 : 9, n}, {1}), 8, 2e-6);
  }
  for (const auto& [dims, axes] :
       std::vector<std::pair<std::vector<int64_t>, std::vector<int>>>{{{2, 12, 33, 5}, {1}},
                                                                      {{2, 12, 33, 5}, {0}},
                                                                      {{7, 300, 70}, {1}},
                                                                      {{3, 5000, 20}, {1}},
                                                                      {{2, 40000, 3}, {1}},
                                                                      {{5, 6, 7}, {0, 2}},
                                                                      {{5, 6, 7}, {1, 2}},
                                                                      {{5, 6, 7}, {0, 1, 2}},
                                                                      {{5, 6, 7}, {0, 1}},
                                                                      {{5, 1, 7}, {1}}}) {
    SCOPED_TRACE(shape_text(dims));
    expect_agrees(softmax(dims, axes), 8, 2e-6);
  }
}

TEST(RegionTile, NormsWithBroadcastScales) {
  expect_agrees(layer_norm({33, 768}, {1}, {1}), 3, 2e-5, 1, 2e-6);
  expect_agrees(layer_norm({5, 7, 9}, {1, 2}, {1}), 3, 2e-5, 1,
                2e-6);  // scale per channel inside the row
  expect_agrees(layer_norm({2, 6, 13, 11}, {2, 3}, {1}), 3, 2e-5, 1, 2e-6);  // instance norm
  expect_agrees(layer_norm({2, 6, 13, 11}, {0, 2, 3}, {1}), 3, 2e-5, 1, 2e-6);
  expect_agrees(layer_norm({2, 3, 70, 300}, {1, 2, 3}, {1}), 3, 2e-5, 1,
                2e-6);  // longer than a tile, two strides
  expect_agrees(layer_norm({4, 20, 6}, {1}, {1}), 3, 2e-5, 1, 2e-6);
  expect_agrees(layer_norm({3, 50000, 6}, {1}, {2}), 3, 2e-5, 1, 2e-6);
}

TEST(RegionTile, ReductionsOfIntegersAndOfNothing) {
  for (const DType dtype :
       {DType::kI32, DType::kI64, DType::kU8, DType::kU64, DType::kF32, DType::kF64}) {
    for (const auto& [dims, axis] :
         std::vector<std::pair<std::vector<int64_t>, int>>{{{5, 300}, 1},
                                                           {{300, 5}, 0},
                                                           {{4, 0}, 1},
                                                           {{0, 40}, 0},
                                                           {{2, 70000}, 1},
                                                           {{3, 33}, 0}}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + shape_text(dims));
      Builder b(2, {axis});
      RegionOperand kept{
          {static_cast<int8_t>(axis == 0 ? -1 : 0), static_cast<int8_t>(axis == 1 ? -1 : 0)}};
      const int32_t x = b.input(dtype);
      b.output(b.f(Op::kReduceSum, x), kept);
      b.output(b.f(Op::kReduceMax, x), kept);
      b.output(b.f(Op::kAdd, b.f(Op::kReduceMin, x), b.constant(1, dtype)), kept);
      const std::vector<int64_t> out{dims[static_cast<size_t>(1 - axis)]};
      expect_agrees(region_desc(b, dims, {operand(dims, dtype)},
                                {operand(out, dtype), operand(out, dtype), operand(out, dtype)}),
                    100, 2e-6, 1, 2e-4);
    }
  }
}

TEST(RegionTile, ChannelBlockedLayout) {
  for (const auto& [c, h, w] : std::vector<std::array<int64_t, 3>>{
           {16, 5, 7}, {3, 9, 9}, {19, 1, 1}, {64, 14, 14}, {35, 20, 3}, {1, 4, 4}, {48, 0, 2}}) {
    SCOPED_TRACE(shape_text({c, h, w}));
    const std::vector<int64_t> dims{2, c, h, w};
    const Layout c16 = Layout::kC16;
    Builder b(4);
    const int32_t x = b.input(DType::kF32), y = b.input(DType::kU8);
    const int32_t bias = b.input(DType::kF32, RegionOperand{{-1, 0, -1, -1}}),
                  gate = b.input(DType::kF32);
    const int32_t v =
        b.f(Op::kAdd, b.f(Op::kMul, b.f(Op::kAdd, x, bias), gate), b.cast(y, DType::kF32));
    b.output(
        b.f(Op::kExp, b.f(Op::kNeg, b.f(Op::kAbs, v))));  // maps 0 to 1: padding must be masked
    b.output(b.add(Op::kIota, DType::kI32, {1, -1, -1}));
    expect_agrees(region_desc(b, dims,
                              {operand(dims, DType::kF32, c16), operand(dims, DType::kU8, c16),
                               operand({c}), operand({2, c, 1, 1}, DType::kF32, c16)},
                              {operand(dims, DType::kF32, c16), operand(dims, DType::kI32, c16)}),
                  3, 2e-6, 1, 1e-6);
    // Global average per channel, and instance norm, in blocks.
    Builder r(4, {2, 3});
    const int32_t z = r.input(DType::kF32),
                  scale = r.input(DType::kF32, RegionOperand{{-1, 0, -1, -1}});
    const int32_t mean = r.f(Op::kReduceMean, z);
    r.output(r.f(Op::kAdd, r.f(Op::kSub, z, mean), scale));
    r.output(mean, RegionOperand{{0, 1, -1, -1}});
    if (h == 0) continue;
    expect_agrees(
        region_desc(r, dims, {operand(dims, DType::kF32, c16), operand({c})},
                    {operand(dims, DType::kF32, c16), operand({2, c, 1, 1}, DType::kF32, c16)}),
        3, 2e-5, 1, 2e-6);
  }
}

TEST(RegionTile, MayWriteOverAnInput) {
  const std::vector<int64_t> dims{3, 700};
  for (const bool two : {false, true}) {
    Builder b(2, {1});
    const int32_t x = b.input(DType::kF32), y = b.input(DType::kF32);
    b.output(b.f(Op::kAdd, b.f(Op::kExp, b.f(Op::kSub, x, b.f(Op::kReduceMax, x))), y));
    if (two) b.output(b.f(Op::kMul, x, y));
    std::vector<TensorDesc> outs(two ? 2 : 1, operand(dims));
    const Desc desc = region_desc(b, dims, {operand(dims), operand(dims)}, outs);
    std::mt19937 random(5);
    const Buffer xs = filled(desc.inputs[0], random, 2), ys = filled(desc.inputs[1], random, 2);
    for (const IsaLevel level : levels()) {
      const Tactic* tactic = find_tactic(level, "region_tile");
      const Outcome apart = launch_all(*tactic, desc, {xs, ys}, 1);
      const Buffer over(xs.bytes()), other(xs.bytes());
      std::memcpy(over.data(), xs.data(), static_cast<size_t>(xs.bytes()));
      const Config config = configs_of(*tactic, desc).front();
      const auto prepared = tactic->prepare(desc, config);
      const Buffer worker(tactic->workspace(desc, config).per_worker_bytes);
      const void* in[] = {over.data(), ys.data()};
      void* out[] = {over.data(), other.data()};
      const Launch launch{&desc,
                          &config,
                          prepared.get(),
                          in,
                          out,
                          nullptr,
                          worker.data(),
                          0,
                          0,
                          tactic->units(desc, config, prepared.get(), 0)};
      ASSERT_TRUE(tactic->launch(launch).is_ok());
      EXPECT_TRUE(same_bytes(over, apart.outputs[0]));
      if (two) {
        EXPECT_TRUE(same_bytes(other, apart.outputs[1]));
      }
    }
  }
}

TEST(RegionTile, RefusesWithReasons) {
  const Tactic* tactic = find_tactic(IsaLevel::kBaseline, "region_tile");
  Desc mixed = softmax({2, 32, 4, 4}, {1});
  mixed.inputs[0].layout = mixed.outputs[0].layout = Layout::kC16;
  EXPECT_NE(tactic->supports(mixed).message().find("reduction over the channels"),
            std::string::npos);
  mixed.outputs[0].layout = Layout::kPlain;
  EXPECT_NE(tactic->supports(mixed).message().find("outputs are plain"), std::string::npos);
  Desc wrong = softmax({2, 32}, {1});
  wrong.inputs[0].dims = {2, 31};
  EXPECT_NE(tactic->supports(wrong).message().find("extent 31"), std::string::npos);
}

}  // namespace
}  // namespace stoker::test
