// The attention tactic against the op's reference evaluation, on every ISA level, in every config
// and for several cuts of the work: shapes, masks, shared heads, long rows, infinities and NaN.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels/desc/attention.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Shape4 {
  int64_t batch, q_heads, kv_heads, q_length, kv_length, head, v_head;
};

TensorDesc operand(const AttentionParams& p, int64_t batch, int64_t heads, int64_t length,
                   int64_t width) {
  if (p.packed) return {DType::kF32, {batch, length, heads * width}};
  return {DType::kF32, {batch, heads, length, width}};
}

Desc attention(AttentionParams p, const Shape4& s) {
  p.scale = s.head > 0 ? 1 / std::sqrt(static_cast<double>(s.head)) : 1;
  if (p.packed) p.q_heads = s.q_heads, p.kv_heads = s.kv_heads;
  return {p,
          {operand(p, s.batch, s.q_heads, s.q_length, s.head),
           operand(p, s.batch, s.kv_heads, s.kv_length, s.head),
           operand(p, s.batch, s.kv_heads, s.kv_length, s.v_head)},
          {operand(p, s.batch, s.q_heads, s.q_length, s.v_head)}};
}

std::vector<Tensor> random_operands(const Desc& desc) {
  std::mt19937 random(23);
  std::vector<Tensor> tensors;
  for (const TensorDesc& input : desc.inputs) {
    Tensor tensor = random_tensor(input.dtype, input.dims, random);
    if (input.dtype == DType::kBool) {
      for (int64_t i = 0; i < tensor.count(); ++i)
        static_cast<uint8_t*>(tensor.data())[i] = random() % 4 != 0;
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

void check(const Desc& desc, const std::vector<Tensor>& inputs) {
  SCOPED_TRACE(desc_key(desc));
  const RunResult expected = run_tactic(*reference_of(Family::kAttention), desc, inputs, 1);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.message();
  const std::vector<double> right = logical(desc.outputs[0], expected.output);
  for (const IsaLevel level : levels()) {
    const Tactic* tactic = find_tactic(level, "attention_f32");
    ASSERT_TRUE(tactic);
    const auto configs = configs_of(*tactic, desc);
    for (size_t c = 0; c < configs.size(); ++c) {
      SCOPED_TRACE(std::string(isa_name(level)) + " " + configs[c].name);
      const RunResult run = run_tactic(*tactic, desc, inputs, 1, c);
      ASSERT_TRUE(run.status.is_ok()) << run.status.message();
      const std::vector<double> ours = logical(desc.outputs[0], run.output);
      for (size_t i = 0; i < ours.size(); ++i) {
        if (right[i] == ours[i] || (std::isnan(right[i]) && std::isnan(ours[i]))) continue;
        ASSERT_NEAR(ours[i], right[i], 5e-6 * std::max(1.0, std::fabs(right[i])))
            << "element " << i;
      }
      for (const int pieces : {2, 5}) {
        const RunResult cut = run_tactic(*tactic, desc, inputs, pieces, c);
        ASSERT_TRUE(same_bytes(run.output, cut.output)) << "bits depend on the cut";
      }
    }
  }
}

void check(const Desc& desc) { check(desc, random_operands(desc)); }

Desc with_mask(Desc desc, DType dtype, std::vector<int64_t> dims) {
  desc.inputs.push_back({dtype, std::move(dims)});
  return desc;
}

const std::vector<Shape4>& shapes() {
  static const std::vector<Shape4> list{{2, 3, 3, 5, 7, 8, 8},     {1, 4, 2, 33, 50, 20, 24},
                                        {2, 2, 2, 1, 37, 64, 64},  {1, 6, 1, 2, 130, 16, 5},
                                        {1, 2, 2, 70, 64, 32, 33}, {1, 1, 1, 300, 17, 3, 1}};
  return list;
}

TEST(Attention, ShapesInBothForms) {
  for (const Shape4& s : shapes()) {
    for (const bool packed : {false, true}) check(attention({.packed = packed}, s));
  }
}

TEST(Attention, CausalWindowsAndSoftcaps) {
  for (const Shape4& s : shapes()) {
    check(attention({.causal = true}, s));
    check(attention({.window = 3, .causal = true, .packed = true}, s));
    check(attention({.window = 40, .causal = true}, s));
    check(attention({.softcap = 0.5}, s));
  }
}

TEST(Attention, MasksThatBroadcast) {
  for (const Shape4& s : shapes()) {
    for (const DType dtype : {DType::kF32, DType::kBool}) {
      for (const auto& dims :
           std::vector<std::vector<int64_t>>{{s.batch, s.q_heads, s.q_length, s.kv_length},
                                             {s.batch, 1, 1, s.kv_length},
                                             {1, s.q_heads, s.q_length, s.kv_length},
                                             {s.q_length, s.kv_length},
                                             {s.q_heads, 1, s.kv_length},
                                             {s.kv_length}}) {
        check(with_mask(attention({}, s), dtype, dims));
      }
      check(with_mask(attention({.softcap = 2, .causal = true}, s), dtype,
                      {s.q_length, s.kv_length}));
      check(
          with_mask(attention({.packed = true, .mask_repeats = true}, s), dtype, {s.q_length, 1}));
    }
  }
}

// `where(mask, scores, number)`: rows without a true element are means of the values.
TEST(Attention, MasksThatSetScores) {
  for (const Shape4& s : shapes()) {
    for (const double score : {-3.0, -1e4, -3.4028234663852886e38}) {
      Desc desc =
          with_mask(attention({.masked_score = score}, s), DType::kBool, {s.q_length, s.kv_length});
      std::vector<Tensor> inputs = random_operands(desc);
      std::fill_n(static_cast<uint8_t*>(inputs[3].data()), s.kv_length, uint8_t{0});
      check(desc, inputs);
    }
  }
}

TEST(Attention, MasksThatFallShort) {
  for (const int64_t width : {int64_t{0}, int64_t{1}, int64_t{33}}) {
    const Shape4 s{1, 2, 2, 9, 50, 16, 16};
    check(with_mask(attention({}, s), DType::kF32, {9, width}));
    check(with_mask(attention({.causal = true}, s), DType::kBool, {1, width}));
  }
}

// Rows that do not fit: blocks of positions with a running maximum.
TEST(Attention, LongRows) {
  const Shape4 s{1, 2, 1, 20, 6001, 12, 20};
  check(attention({}, s));
  Desc masked = with_mask(attention({.packed = true}, s), DType::kF32, {20, 6001});
  std::vector<Tensor> inputs = random_operands(masked);
  // The first blocks of some rows are ruled out, and maxima grow from block to block.
  auto mask = inputs[3].values<float>();
  for (int64_t j = 0; j < 3000; ++j) mask[static_cast<size_t>(6001 + j)] = -kInfinity;
  for (int64_t j = 0; j < 6001; ++j) mask[static_cast<size_t>(2 * 6001 + j)] += 0.01f * j;
  for (int64_t j = 0; j < 6001; ++j) mask[static_cast<size_t>(3 * 6001 + j)] = -kInfinity;
  check(masked, inputs);
  check(attention({.window = 2500, .causal = true}, {1, 1, 1, 6001, 6001, 4, 4}));
}

TEST(Attention, EmptyExtents) {
  for (const bool packed : {false, true}) {
    for (const bool nan_rows : {false, true}) {
      const AttentionParams p{.packed = packed, .nan_rows = nan_rows};
      check(attention(p, {0, 2, 2, 3, 4, 8, 8}));
      check(attention(p, {2, 2, 2, 0, 4, 8, 8}));
      check(attention(p, {2, 2, 2, 3, 0, 8, 8}));
      check(attention(p, {2, 2, 2, 3, 4, 8, 0}));
      check(attention(p, {2, 2, 2, 3, 4, 0, 8}));
    }
  }
  check(attention({}, {2, 0, 0, 3, 4, 8, 8}));
}

TEST(Attention, RowsThatAreRuledOut) {
  for (const bool nan_rows : {false, true}) {
    for (const DType dtype : {DType::kF32, DType::kBool}) {
      const Desc desc =
          with_mask(attention({.nan_rows = nan_rows}, {1, 2, 2, 6, 40, 16, 8}), dtype, {6, 40});
      std::vector<Tensor> inputs = random_operands(desc);
      for (size_t j = 0; j < 80; ++j) {
        if (dtype == DType::kF32)
          inputs[3].values<float>()[j] = -kInfinity;
        else
          static_cast<uint8_t*>(inputs[3].data())[j] = 0;
      }
      check(desc, inputs);
    }
  }
}

// One operand at a time holds an infinity or NaN, at positions that a mask rules out and at others.
TEST(Attention, InfinitiesAndNaN) {
  const Shape4 s{1, 2, 1, 5, 40, 16, 8};
  for (const float special : {kInfinity, -kInfinity, std::nanf("")}) {
    for (size_t input = 0; input < 4; ++input) {
      const Desc desc = with_mask(attention({}, s), DType::kF32, {5, 40});
      std::vector<Tensor> inputs = random_operands(desc);
      for (size_t j = 0; j < 40; j += 3) inputs[3].values<float>()[40 + j] = -kInfinity;
      for (const size_t at : {size_t{0}, size_t{20}, size_t{49}})
        inputs[input].values<float>()[at] = special;
      check(desc, inputs);
    }
  }
}

TEST(Attention, OtherDtypesAreRefused) {
  Desc desc = attention({}, shapes()[0]);
  desc.inputs.push_back({DType::kI32, {7}});
  const Tactic* tactic = find_tactic(IsaLevel::kBaseline, "attention_f32");
  EXPECT_NE(tactic->supports(desc).message().find("the mask is i32"), std::string::npos);
  desc.inputs.pop_back();
  for (TensorDesc* operand : {&desc.inputs[0], &desc.inputs[1], &desc.inputs[2], &desc.outputs[0]})
    operand->dtype = DType::kF16;
  EXPECT_NE(tactic->supports(desc).message().find("expected f32"), std::string::npos);
}

}  // namespace
}  // namespace stoker::test
