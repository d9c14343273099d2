// Pool tactics against the reference pool, on every ISA level: kernels, strides, dilations, pads,
// ceil_mode, channel tails, 1 to 3 spatial dims.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

TensorDesc operand(std::vector<int64_t> dims, DType dtype, Layout layout) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  desc.layout = layout;
  return desc;
}

int64_t output_extent(const PoolParams& p, size_t d, int64_t in) {
  if (p.global) return 1;
  const size_t rank = p.kernel.size();
  if (p.auto_pad == ConvParams::AutoPad::kSameUpper ||
      p.auto_pad == ConvParams::AutoPad::kSameLower) {
    return (in + p.strides[d] - 1) / p.strides[d];
  }
  const int64_t room = in + p.pads[d] + p.pads[rank + d] - ((p.kernel[d] - 1) * p.dilations[d] + 1);
  int64_t out = (p.ceil_mode ? (room + p.strides[d] - 1) / p.strides[d] : room / p.strides[d]) + 1;
  // A window that would start past the input and its left padding does not exist.
  if (p.ceil_mode && (out - 1) * p.strides[d] >= in + p.pads[d]) --out;
  return out;
}

void check(const PoolParams& params, const std::vector<int64_t>& x, DType dtype) {
  std::vector<int64_t> y{x[0], x[1]};
  for (size_t d = 2; d < x.size(); ++d) y.push_back(output_extent(params, d - 2, x[d]));
  SCOPED_TRACE(shape_text(x) + " to " + shape_text(y) + " " + std::string(dtype_name(dtype)));
  std::mt19937 random(17);
  const Tensor values = random_tensor(dtype, x, random);
  const Desc plain{
      params, {operand(x, dtype, Layout::kPlain)}, {operand(y, dtype, Layout::kPlain)}};
  const RunResult expected = run_tactic(*reference_of(Family::kPool), plain, {values}, 1);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.message();
  const std::vector<double> right = logical(plain.outputs[0], expected.output);
  for (const Layout layout : {Layout::kPlain, Layout::kC16}) {
    const Desc desc{params, {operand(x, dtype, layout)}, {operand(y, dtype, layout)}};
    for (const IsaLevel level : levels()) {
      SCOPED_TRACE(std::string(layout_name(layout)) + " " + std::string(isa_name(level)));
      const Tactic* tactic =
          find_tactic(level, layout == Layout::kPlain ? "pool_plain" : "pool_c16");
      ASSERT_TRUE(tactic);
      const RunResult run = run_tactic(*tactic, desc, {values}, 1);
      ASSERT_TRUE(run.status.is_ok()) << run.status.message();
      const std::vector<double> ours = logical(desc.outputs[0], run.output);
      for (size_t i = 0; i < ours.size(); ++i)
        ASSERT_NEAR(ours[i], right[i], 2e-6) << "element " << i;
      for (const int pieces : {2, 5}) {
        const RunResult cut = run_tactic(*tactic, desc, {values}, pieces);
        ASSERT_TRUE(same_bytes(run.output, cut.output)) << "bits depend on the cut";
      }
    }
  }
}

PoolParams window(PoolParams::Kind kind, std::vector<int64_t> kernel, std::vector<int64_t> strides,
                  std::vector<int64_t> dilations, std::vector<int64_t> pads) {
  PoolParams p;
  p.kind = kind;
  p.kernel = std::move(kernel);
  p.strides = std::move(strides);
  p.dilations = std::move(dilations);
  p.pads = std::move(pads);
  return p;
}

TEST(Pool, WindowsOfManyShapes) {
  using Kind = PoolParams::Kind;
  for (const Kind kind : {Kind::kMax, Kind::kAverage}) {
    for (const bool include_pad : {false, true}) {
      for (const bool ceil_mode : {false, true}) {
        std::vector<std::pair<PoolParams, std::vector<int64_t>>> cases{
            {window(kind, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}), {1, 19, 12, 11}},
            {window(kind, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}), {2, 16, 9, 8}},
            {window(kind, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}), {1, 33, 20, 20}},
            {window(kind, {3, 2}, {1, 3}, {2, 2}, {2, 0, 1, 1}), {2, 3, 13, 17}},
            {window(kind, {4}, {3}, {1}, {1, 2}), {2, 18, 40}},
            {window(kind, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1, 1, 1, 0}), {1, 17, 5, 6, 7}}};
        for (auto& [params, x] : cases) {
          params.count_include_pad = include_pad;
          params.ceil_mode = ceil_mode;
          check(params, x, DType::kF32);
        }
      }
    }
  }
}

TEST(Pool, AutomaticPadding) {
  for (const auto pad : {ConvParams::AutoPad::kSameUpper, ConvParams::AutoPad::kSameLower}) {
    for (const auto kind : {PoolParams::Kind::kMax, PoolParams::Kind::kAverage}) {
      PoolParams p = window(kind, {3, 4}, {2, 3}, {1, 1}, {});
      p.auto_pad = pad;
      check(p, {1, 20, 11, 14}, DType::kF32);
    }
  }
}

TEST(Pool, GlobalPlanes) {
  for (const auto kind : {PoolParams::Kind::kMax, PoolParams::Kind::kAverage}) {
    PoolParams p;
    p.kind = kind;
    p.global = true;
    for (const auto& x : std::vector<std::vector<int64_t>>{
             {2, 19, 7, 7}, {1, 64, 112, 112}, {3, 5, 1, 1}, {1, 16, 300}, {1, 4, 3, 5, 6}}) {
      check(p, x, DType::kF32);
    }
  }
}

TEST(Pool, BytesUnderMax) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    check(window(PoolParams::Kind::kMax, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}), {2, 21, 15, 14},
          dtype);
  }
}

}  // namespace
}  // namespace stoker::test
