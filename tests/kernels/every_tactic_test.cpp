// Every tactic of the lists on every ISA level against the reference tactic of its family, on the
// cases that it supports: what a new kernel gets without writing a test. Prints how many cases each
// one ran.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "tests/kernels/tactic_harness.h"

namespace stoker::test {
namespace {

struct Case {
  std::string name;
  Desc desc;
};

TensorDesc f32(std::vector<int64_t> dims) { return {DType::kF32, std::move(dims)}; }

Case gemm(std::vector<int64_t> a, std::vector<int64_t> b, std::vector<int64_t> y, bool transpose_b,
          bool constant_b) {
  GemmParams params;
  params.transpose_b = transpose_b;
  Desc desc{params, {f32(std::move(a)), f32(std::move(b))}, {f32(std::move(y))}};
  desc.inputs[1].constant = constant_b;
  return {"gemm", desc};
}

Case conv(std::vector<int64_t> x, std::vector<int64_t> w, std::vector<int64_t> y, int64_t stride,
          int64_t pad, int64_t group) {
  ConvParams params;
  params.strides = {stride, stride};
  params.dilations = {1, 1};
  params.pads = {pad, pad, pad, pad};
  params.group = group;
  Desc desc{params, {f32(std::move(x)), f32(std::move(w))}, {f32(std::move(y))}};
  desc.inputs[1].constant = true;
  return {"conv", desc};
}

Case conv_transpose(std::vector<int64_t> x, std::vector<int64_t> w, std::vector<int64_t> y,
                    int64_t stride, int64_t group) {
  Case c = conv(std::move(x), std::move(w), std::move(y), stride, 0, group);
  std::get<ConvParams>(c.desc.params).transposed = true;
  return c;
}

Case resize(ResampleRule::Mode mode, std::vector<int64_t> x, std::vector<int64_t> y) {
  ResizeParams params;
  params.rule.mode = mode;
  return {"resize", Desc{params, {f32(std::move(x))}, {f32(std::move(y))}}};
}

Case pool(PoolParams::Kind kind, bool global, std::vector<int64_t> x, std::vector<int64_t> y) {
  PoolParams params;
  params.kind = kind;
  params.global = global;
  if (!global) {
    params.kernel = {3, 3};
    params.strides = {2, 2};
    params.dilations = {1, 1};
    params.pads = {1, 1, 1, 1};
  }
  return {"pool", Desc{params, {f32(std::move(x))}, {f32(std::move(y))}}};
}

Case copy(std::vector<int64_t> x, std::vector<int64_t> perm) {
  CopyParams params;
  std::vector<int64_t> y;
  for (const int64_t from : perm) y.push_back(x[static_cast<size_t>(from)]);
  params.perm = std::move(perm);
  return {"copy", Desc{params, {f32(std::move(x))}, {f32(std::move(y))}}};
}

Case gather(std::vector<int64_t> x, int64_t count) {
  const std::vector<int64_t> y{count, x[1]};
  return {"gather", Desc{GatherParams{0}, {f32(std::move(x)), {DType::kI64, {count}}}, {f32(y)}}};
}

Case constant_table(Case gather) {
  gather.desc.inputs[0].constant = true;
  return gather;
}

Case attention(std::vector<int64_t> q, std::vector<int64_t> kv, std::vector<int64_t> mask) {
  AttentionParams params;
  params.scale = 0.25;
  return {"attention",
          Desc{params, {f32(q), f32(kv), f32(kv), f32(std::move(mask))}, {f32(std::move(q))}}};
}

Case recurrent(RecurrentParams::Cell cell, std::vector<int64_t> x, int64_t hidden) {
  const int64_t gates = cell == RecurrentParams::Cell::kLstm ? 4 : 1;
  RecurrentParams params;
  params.cell = cell;
  params.activations.assign(gates == 4 ? 3 : 1, Activation{ActivationKind::kTanh});
  const std::vector<int64_t> y{x[0], 1, x[1], hidden};
  Desc desc{
      params, {f32(x), f32({1, gates * hidden, x[2]}), f32({1, gates * hidden, hidden})}, {f32(y)}};
  desc.inputs[1].constant = desc.inputs[2].constant = true;
  return {"recurrent", desc};
}

// One unary operation over all elements.
Case region(RegionOp op, std::vector<int64_t> dims) {
  RegionParams params;
  RegionOperand all;
  for (size_t d = 0; d < dims.size(); ++d) all.dim_of.push_back(static_cast<int8_t>(d));
  params.extents = dims;
  params.program.rank = static_cast<int32_t>(dims.size());
  params.program.reduced.assign(dims.size(), 0);
  params.program.inputs = {all};
  params.program.instructions = {{RegionOp::kInput, DType::kF32, {0, -1, -1}},
                                 {op, DType::kF32, {0, -1, -1}}};
  params.program.outputs = {{1, all}};
  return {"region", Desc{params, {f32(dims)}, {f32(dims)}}};
}

std::vector<Case> cases() {
  using Kind = PoolParams::Kind;
  return {
      gemm({5, 7}, {7, 9}, {5, 9}, false, false),
      gemm({1, 64}, {64, 33}, {1, 33}, false, true),
      gemm({18, 40}, {50, 40}, {18, 50}, true, true),
      gemm({2, 6, 8}, {2, 8, 5}, {2, 6, 5}, false, false),
      conv({1, 3, 9, 8}, {20, 3, 3, 3}, {1, 20, 9, 8}, 1, 1, 1),
      conv({2, 32, 7, 7}, {16, 32, 1, 1}, {2, 16, 7, 7}, 1, 0, 1),
      conv({1, 32, 9, 9}, {48, 32, 3, 3}, {1, 48, 5, 5}, 2, 1, 1),
      conv({1, 32, 8, 8}, {32, 1, 3, 3}, {1, 32, 8, 8}, 1, 1, 32),
      conv_transpose({1, 19, 6, 7}, {19, 24, 2, 2}, {1, 24, 12, 14}, 2, 1),
      conv_transpose({2, 6, 5, 5}, {6, 2, 3, 3}, {2, 4, 11, 11}, 2, 2),
      resize(ResampleRule::Mode::kNearest, {1, 19, 5, 7}, {1, 19, 10, 21}),
      resize(ResampleRule::Mode::kCubic, {1, 19, 5, 7}, {1, 19, 9, 4}),
      pool(Kind::kAverage, true, {2, 19, 5, 7}, {2, 19, 1, 1}),
      pool(Kind::kMax, false, {1, 19, 9, 8}, {1, 19, 5, 4}),
      copy({3, 17, 4}, {0, 1, 2}),
      copy({3, 17, 4}, {2, 0, 1}),
      gather({6, 21}, 9),
      constant_table(gather({38, 21}, 9)),
      attention({2, 4, 9, 16}, {2, 2, 35, 16}, {9, 35}),
      attention({1, 3, 1, 20}, {1, 3, 70, 20}, {1, 70}),
      recurrent(RecurrentParams::Cell::kLstm, {3, 2, 9}, 5),
      recurrent(RecurrentParams::Cell::kRnn, {2, 1, 20}, 40),
      region(RegionOp::kNeg, {3, 37}),
      region(RegionOp::kAbs, {2, 19, 5, 3}),
  };
}

std::vector<Tensor> operands(const Desc& desc) {
  std::mt19937 random(11);
  std::vector<Tensor> result;
  for (const TensorDesc& input : desc.inputs) {
    Tensor tensor = *Tensor::allocate(input.dtype, input.dims);
    if (input.dtype == DType::kF32) {
      tensor = random_tensor(DType::kF32, input.dims, random);
    } else {
      const int64_t rows = desc.inputs[0].dims[0];
      for (int64_t& index : tensor.values<int64_t>()) {
        index = static_cast<int64_t>(random() % static_cast<uint32_t>(2 * rows)) - rows;
      }
    }
    result.push_back(tensor);
  }
  return result;
}

// The desc with its operands in the layout that the tactic asks for first.
Desc laid_out(const Tactic& tactic, Desc desc) {
  if (!tactic.layouts) return desc;
  const auto layouts = tactic.layouts(desc);
  if (layouts.empty()) return desc;
  for (size_t i = 0; i < desc.inputs.size(); ++i) desc.inputs[i].layout = layouts[0][i];
  desc.outputs[0].layout = layouts[0][desc.inputs.size()];
  return desc;
}

// 1 when the tactic supports the case, and then its numbers must be right.
int run_case(const Tactic& tactic, const Case& c, const Tactic& reference) {
  const Desc desc = laid_out(tactic, c.desc);
  const std::vector<Tensor> inputs = operands(desc);
  const RunResult run = run_tactic(tactic, desc, inputs, 1);
  if (run.status.code() == StatusCode::kUnsupported) return 0;
  EXPECT_TRUE(run.status.is_ok()) << run.status.message();
  if (!tactic.reference) EXPECT_EQ(run.allocations, 0) << c.name << ": a launch allocates";
  const RunResult expected = run_tactic(reference, c.desc, inputs, 1);
  EXPECT_TRUE(expected.status.is_ok()) << expected.status.message();
  if (!run.status.is_ok() || !expected.status.is_ok()) return 1;
  const std::vector<double> ours = logical(desc.outputs[0], run.output);
  const std::vector<double> right = logical(c.desc.outputs[0], expected.output);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], right[i], 2e-5) << c.name << ": element " << i;
    if (testing::Test::HasFailure()) break;
  }
  const RunResult cut = run_tactic(tactic, desc, inputs, 3);
  EXPECT_TRUE(same_bytes(run.output, cut.output)) << c.name << ": bits depend on the split";
  return 1;
}

TEST(EveryTactic, AgreesWithTheReferenceWhereItSupports) {
  for (const IsaLevel level : levels()) {
    for (const Tactic& tactic : tactics_of(level)) {
      const Tactic* reference = nullptr;
      for (const Tactic& other : reference_tactics()) {
        if (other.family == tactic.family) reference = &other;
      }
      ASSERT_TRUE(reference) << "family " << family_name(tactic.family) << " has no reference";
      SCOPED_TRACE(tactic.name);
      int ran = 0;
      for (const Case& c : cases()) {
        if (c.desc.family() == tactic.family) ran += run_case(tactic, c, *reference);
      }
      std::cout << tactic.name << " at level " << static_cast<int>(level) << ": " << ran
                << " cases\n";
    }
  }
}

}  // namespace
}  // namespace stoker::test
