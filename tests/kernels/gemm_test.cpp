// Gemm tactics on every ISA level against a plain double-precision gemm, over shapes with tails,
// batches and broadcasting; integers exactly; bits independent of how the units are shared out.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/epilogues.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

struct Case {
  std::vector<int64_t> a, b, y;
  bool transpose_a = false, transpose_b = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {{1, 1}, {1, 1}, {1, 1}},
      {{1, 37}, {37, 200}, {1, 200}},
      {{2, 64}, {64, 130}, {2, 130}},
      {{3, 65}, {65, 16}, {3, 16}},
      {{5, 33}, {33, 70}, {5, 70}},
      {{7, 12}, {12, 95}, {7, 95}},
      {{14, 20}, {20, 32}, {14, 32}},
      {{15, 21}, {21, 47}, {15, 47}},
      {{29, 18}, {18, 15}, {29, 15}},
      {{150, 40}, {40, 150}, {150, 150}},
      {{40, 1700}, {1700, 40}, {40, 40}},
      {{61, 6500}, {6500, 17}, {61, 17}},
      {{33, 50}, {34, 50}, {33, 34}, false, true},
      {{50, 33}, {50, 34}, {33, 34}, true, false},
      {{51, 33}, {34, 51}, {33, 34}, true, true},
      {{3, 20, 8}, {8, 19}, {3, 20, 19}},
      {{2, 3, 20, 8}, {2, 3, 8, 19}, {2, 3, 20, 19}},
      {{2, 1, 9, 8}, {3, 8, 19}, {2, 3, 9, 19}},
      {{4, 10, 30}, {4, 21, 30}, {4, 10, 21}, false, true},
      {{3, 1, 30}, {1, 30, 21}, {3, 1, 21}},
      {{0, 4}, {4, 3}, {0, 3}},
      {{3, 0}, {0, 5}, {3, 5}},
      {{2, 4}, {4, 0}, {2, 0}},
  };
  return kCases;
}

Desc desc_of(const Case& c, DType a, DType b, DType y, bool constant) {
  Desc desc;
  GemmParams params;
  params.transpose_a = c.transpose_a;
  params.transpose_b = c.transpose_b;
  desc.params = params;
  desc.inputs = {TensorDesc{a, c.a}, TensorDesc{b, c.b}};
  desc.inputs[1].constant = constant;
  desc.outputs = {TensorDesc{y, c.y}};
  return desc;
}

// Matrix of an operand for a batch index of the result.
int64_t matrix_of(const std::vector<int64_t>& dims, const std::vector<int64_t>& y, int64_t batch) {
  int64_t matrix = 0, scale = 1;
  for (size_t i = 0; i + 2 < y.size(); ++i) {
    const int64_t extent = y[y.size() - 3 - i];
    const int64_t at = batch % extent;
    batch /= extent;
    if (i + 2 >= dims.size()) continue;
    const int64_t own = dims[dims.size() - 3 - i];
    matrix += (own == 1 ? 0 : at) * scale;
    scale *= own;
  }
  return matrix;
}

struct Expected {
  std::vector<double> value, magnitude;  // sum and sum of absolute values
};

Expected reference(const Case& c, const std::vector<double>& a, const std::vector<double>& b,
                   double a_zero, double b_zero) {
  const int64_t m = c.y[c.y.size() - 2], n = c.y.back();
  const int64_t k = c.transpose_a ? c.a[c.a.size() - 2] : c.a.back();
  int64_t batches = 1;
  for (size_t d = 0; d + 2 < c.y.size(); ++d) batches *= c.y[d];
  Expected e;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t a0 = matrix_of(c.a, c.y, batch) * m * k, b0 = matrix_of(c.b, c.y, batch) * k * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t l = 0; l < k; ++l) {
          const double x =
              a[static_cast<size_t>(a0 + (c.transpose_a ? l * m + i : i * k + l))] - a_zero;
          const double y =
              b[static_cast<size_t>(b0 + (c.transpose_b ? j * k + l : l * n + j))] - b_zero;
          sum += x * y;
          magnitude += std::fabs(x * y);
        }
        e.value.push_back(sum);
        e.magnitude.push_back(magnitude);
      }
    }
  }
  return e;
}

// f32 by a B of any dtype; also the same bits however the units are cut.
void expect_double_agrees(const Tactic& tactic, const Case& c, DType b_dtype, bool constant,
                          uint32_t seed) {
  std::mt19937 random(seed);
  const Tensor a = random_tensor(DType::kF32, c.a, random), b = random_tensor(b_dtype, c.b, random);
  Desc desc = desc_of(c, DType::kF32, b_dtype, DType::kF32, constant);
  const int32_t zero = b_dtype == DType::kU8 ? 128 : 0;
  std::get<GemmParams>(desc.params).b_zero = zero;
  const RunResult whole = run_tactic(tactic, desc, {a, b}, 1);
  ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
  const Expected e = reference(c, doubles(a), doubles(b), 0, zero);
  const std::vector<double> y = logical(desc.outputs[0], whole.output);
  ASSERT_EQ(y.size(), e.value.size());
  const double k = static_cast<double>(c.transpose_a ? c.a[c.a.size() - 2] : c.a.back());
  for (size_t j = 0; j < y.size(); ++j) {
    ASSERT_NEAR(y[j], e.value[j], 6e-8 * (std::sqrt(k) + 2) * e.magnitude[j]) << "element " << j;
  }
  for (const int pieces : {2, 3, 7}) {
    EXPECT_TRUE(same_bytes(whole.output, run_tactic(tactic, desc, {a, b}, pieces).output));
  }
}

TEST(GemmF32, AgreesWithDouble) {
  for (const IsaLevel level : levels()) {
    for (size_t i = 0; i < cases().size(); ++i) {
      SCOPED_TRACE(std::string(isa_name(level)) + " case " + std::to_string(i));
      const auto seed = static_cast<uint32_t>(i);
      for (const bool constant : {true, false}) {
        expect_double_agrees(*find_tactic(level, "gemm_f32_panel"), cases()[i], DType::kF32,
                             constant, seed);
      }
      for (const DType b : {DType::kI8, DType::kU8})
        expect_double_agrees(*find_tactic(level, "gemm_w8_panel"), cases()[i], b, true, seed);
    }
  }
}

TEST(GemmW8, RefusesWhatItsPanelsCannotHold) {
  const Tactic& tactic = *find_tactic(IsaLevel::kBaseline, "gemm_w8_panel");
  Desc desc = desc_of({{2, 4}, {4, 3}, {2, 3}}, DType::kF32, DType::kU8, DType::kF32, true);
  EXPECT_NE(tactic.supports(desc).message().find("zero point 0, expected 128"), std::string::npos);
  std::get<GemmParams>(desc.params).b_zero = 128;
  EXPECT_TRUE(tactic.supports(desc));
  desc.inputs[1].constant = false;
  EXPECT_NE(tactic.supports(desc).message().find("computed"), std::string::npos);
}

TEST(GemmF32, BitsOfARowDoNotDependOnTheOthers) {
  std::mt19937 random(5);
  const Tensor a = random_tensor(DType::kF32, {40, 1700}, random);
  const Tensor b = random_tensor(DType::kF32, {1700, 50}, random);
  for (const IsaLevel level : levels()) {
    const Tactic* tactic = find_tactic(level, "gemm_f32_panel");
    const Desc all =
        desc_of({{40, 1700}, {1700, 50}, {40, 50}}, DType::kF32, DType::kF32, DType::kF32, true);
    const RunResult whole = run_tactic(*tactic, all, {a, b}, 1);
    ASSERT_TRUE(whole.status.is_ok());
    for (const int64_t rows : {1, 2, 5, 14, 39}) {
      const Tensor part = *Tensor::from_bytes(
          DType::kF32, {rows, 1700},
          {static_cast<const std::byte*>(a.data()), static_cast<size_t>(rows * 1700 * 4)});
      const Desc desc = desc_of({{rows, 1700}, {1700, 50}, {rows, 50}}, DType::kF32, DType::kF32,
                                DType::kF32, true);
      const RunResult run = run_tactic(*tactic, desc, {part, b}, 1);
      ASSERT_TRUE(run.status.is_ok());
      EXPECT_EQ(
          std::memcmp(run.output.data(), whole.output.data(), static_cast<size_t>(rows * 50 * 4)),
          0);
    }
  }
}

TEST(GemmI8, IsExact) {
  struct Zeros {
    int32_t a, b;
  };
  for (const IsaLevel level : levels()) {
    const Tactic* tactic = find_tactic(level, "gemm_i8_panel");
    ASSERT_NE(tactic, nullptr);
    for (size_t i = 0; i < cases().size(); ++i) {
      const Case& c = cases()[i];
      for (const DType at : {DType::kU8, DType::kI8})
        for (const DType bt : {DType::kU8, DType::kI8})
          for (const Zeros zeros :
               {Zeros{0, 0}, Zeros{at == DType::kU8 ? 131 : -7, bt == DType::kU8 ? 128 : 3}})
            for (const bool constant : {true, false}) {
              SCOPED_TRACE(std::string(isa_name(level)) + " case " + std::to_string(i));
              std::mt19937 random(static_cast<uint32_t>(i));
              const Tensor a = random_tensor(at, c.a, random), b = random_tensor(bt, c.b, random);
              Desc desc = desc_of(c, at, bt, DType::kI32, constant);
              std::get<GemmParams>(desc.params).a_zero = zeros.a;
              std::get<GemmParams>(desc.params).b_zero = zeros.b;
              const RunResult whole = run_tactic(*tactic, desc, {a, b}, 1);
              ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
              const Expected e = reference(c, doubles(a), doubles(b), zeros.a, zeros.b);
              ASSERT_EQ(logical(desc.outputs[0], whole.output), e.value);
              EXPECT_TRUE(same_bytes(whole.output, run_tactic(*tactic, desc, {a, b}, 3).output));
              const Tensor zero = carry_zero(desc, &GemmParams::a_zero, &GemmParams::a_zero_input);
              for (const Tactic* t : {tactic, reference_of(Family::kGemm)}) {
                const RunResult running = run_tactic(*t, desc, {a, b, zero}, 1);
                ASSERT_TRUE(running.status.is_ok()) << running.status.message();
                ASSERT_TRUE(same_bytes(whole.output, running.output)) << t->name;
              }
            }
    }
  }
}

TEST(GemmF32, FusedBiasResidualClamp) {
  for (const IsaLevel level : levels()) {
    for (const Case& c :
         {Case{{37, 20}, {20, 45}, {37, 45}}, Case{{3, 2, 20}, {20, 45}, {3, 2, 45}}}) {
      std::mt19937 random(3);
      const Tensor a = random_tensor(DType::kF32, c.a, random),
                   b = random_tensor(DType::kF32, c.b, random);
      const Tensor bias = random_tensor(DType::kF32, {45}, random),
                   rest = random_tensor(DType::kF32, c.y, random);
      Desc desc = desc_of(c, DType::kF32, DType::kF32, DType::kF32, true);
      const int rank = static_cast<int>(c.y.size());
      std::get<GemmParams>(desc.params).epilogue = bias_residual_clamp(rank, rank - 1, -0.5, 1.0);
      desc.inputs.push_back(TensorDesc{DType::kF32, {45}});
      desc.inputs[2].constant = true;
      desc.inputs.push_back(TensorDesc{DType::kF32, c.y});
      const RunResult run =
          run_tactic(*find_tactic(level, "gemm_f32_panel"), desc, {a, b, bias, rest}, 2);
      ASSERT_TRUE(run.status.is_ok()) << run.status.message();
      const Expected e = reference(c, doubles(a), doubles(b), 0, 0);
      const std::vector<double> y = logical(desc.outputs[0], run.output), z = doubles(rest),
                                u = doubles(bias);
      for (size_t j = 0; j < y.size(); ++j) {
        ASSERT_NEAR(y[j], std::clamp(e.value[j] + u[j % 45] + z[j], -0.5, 1.0), 1e-5) << j;
      }
    }
  }
}

TEST(GemmI8, FusedRequantization) {
  const Case c{{37, 50}, {50, 45}, {37, 45}};
  std::vector<Buffer> outputs;
  for (const IsaLevel level : levels()) {
    std::mt19937 random(3);
    const Tensor a = random_tensor(DType::kU8, c.a, random),
                 b = random_tensor(DType::kI8, c.b, random);
    const Tensor bias = random_tensor(DType::kI32, {45}, random);
    Tensor scale = random_tensor(DType::kF32, {45}, random);
    for (float& s : scale.values<float>()) s = 0.001f + 0.001f * std::fabs(s);
    Desc desc = desc_of(c, DType::kU8, DType::kI8, DType::kU8, true);
    auto& params = std::get<GemmParams>(desc.params);
    params.a_zero = 120;
    params.epilogue = requantize(2, 1, 117, DType::kU8);
    desc.inputs.push_back(TensorDesc{DType::kI32, {45}});
    desc.inputs.push_back(TensorDesc{DType::kF32, {45}});
    const RunResult run =
        run_tactic(*find_tactic(level, "gemm_i8_panel"), desc, {a, b, bias, scale}, 2);
    ASSERT_TRUE(run.status.is_ok()) << run.status.message();
    const Expected e = reference(c, doubles(a), doubles(b), 120, 0);
    const std::vector<double> y = logical(desc.outputs[0], run.output);
    for (size_t j = 0; j < y.size(); ++j) {
      const float sum = static_cast<float>(e.value[j] + bias.values<int32_t>()[j % 45]);
      const float scaled = std::nearbyint(sum * scale.values<float>()[j % 45]) + 117.0f;
      ASSERT_EQ(y[j], std::clamp(scaled, 0.0f, 255.0f)) << j;
    }
    outputs.push_back(run.output);
    EXPECT_TRUE(same_bytes(outputs.front(), outputs.back()));
  }
}

TEST(Gemm, RefusesWithAReason) {
  const Tactic* tactic = find_tactic(IsaLevel::kBaseline, "gemm_f32_panel");
  const Desc desc = desc_of(cases()[0], DType::kF64, DType::kF64, DType::kF64, true);
  EXPECT_NE(tactic->supports(desc).message().find("f64"), std::string::npos);
}

}  // namespace
}  // namespace stoker::test
