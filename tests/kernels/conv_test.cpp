// Convolution tactics on every ISA level against a plain double-precision convolution, over
// kernels, strides, dilations, pads, groups and tails; integers exactly; bits independent of the
// split of the units.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/epilogues.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

struct Case {
  std::vector<int64_t> x, w;
  std::vector<int64_t> strides, dilations, pads;
  int64_t group = 1;
};

std::vector<int64_t> output_dims(const Case& c) {
  std::vector<int64_t> y{c.x[0], c.w[0]};
  for (size_t d = 0; d + 2 < c.x.size(); ++d) {
    const int64_t reach = (c.w[d + 2] - 1) * c.dilations[d] + 1;
    const int64_t room = c.x[d + 2] + c.pads[d] + c.pads[d + c.x.size() - 2] - reach;
    y.push_back(room < 0 ? 0 : room / c.strides[d] + 1);
  }
  return y;
}

const std::vector<Case>& dense_cases() {
  static const std::vector<Case> kCases = {
      {{1, 16, 1, 1}, {16, 16, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 5, 7, 9}, {18, 5, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 33, 14, 14}, {40, 33, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 20, 9, 11}, {70, 20, 1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 3, 23, 21}, {24, 3, 7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
      {{1, 8, 13, 12}, {17, 8, 3, 2}, {2, 1}, {2, 3}, {2, 1, 0, 3}},
      {{1, 6, 5, 900}, {16, 6, 1, 3}, {1, 1}, {1, 1}, {0, 1, 0, 1}},
      {{3, 7, 40}, {33, 7, 5}, {2}, {1}, {2, 2}},
      {{1, 4, 3, 3}, {1, 4, 3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 4, 2, 2}, {16, 4, 5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
      {{0, 4, 8, 8}, {16, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 2, 2, 8}, {5, 2, 3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 16, 30, 30}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 1, 28, 28}, {8, 1, 5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
  };
  return kCases;
}

const std::vector<Case>& depthwise_cases() {
  static const std::vector<Case> kCases = {
      {{1, 16, 7, 7}, {16, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 16},
      {{2, 21, 19, 17}, {21, 1, 3, 3}, {2, 2}, {1, 1}, {0, 1, 1, 0}, 21},
      {{1, 40, 12, 30}, {40, 1, 5, 7}, {1, 1}, {1, 1}, {2, 3, 2, 3}, 40},
      {{1, 8, 11, 10}, {8, 1, 3, 3}, {1, 2}, {3, 2}, {3, 2, 3, 2}, 8},
      {{2, 5, 90}, {5, 1, 9}, {1}, {1}, {4, 4}, 5},
      {{1, 4, 2, 2}, {4, 1, 7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, 4},
      {{1, 4, 3, 3}, {4, 1, 1, 1}, {2, 2}, {1, 1}, {2, 2, 4, 4}, 4},
      {{1, 1, 9, 80}, {1, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1},
  };
  return kCases;
}

const std::vector<Case>& general_cases() {
  static const std::vector<Case> kCases = {
      {{1, 12, 9, 9}, {18, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 3},
      {{2, 6, 8, 7}, {12, 1, 3, 3}, {2, 1}, {1, 2}, {1, 2, 0, 1}, 6},
      {{1, 3, 6, 7, 20}, {5, 3, 3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2, 1, 1, 2}, 1},
      {{2, 4, 50}, {6, 2, 4}, {3}, {2}, {1, 4}, 2},
      {{1, 2, 6, 7, 8}, {4, 1, 1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, 2},
  };
  return kCases;
}

struct Expected {
  std::vector<double> value, magnitude;
};

int64_t offset_of(const std::vector<int64_t>& dims, const std::vector<int64_t>& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + at[d];
  return offset;
}

bool next(std::vector<int64_t>& at, const std::vector<int64_t>& dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++at[d] < dims[d]) return true;
    at[d] = 0;
  }
  return false;
}

Expected reference(const Case& c, const std::vector<double>& x, const std::vector<double>& w,
                   double x_zero, double w_zero) {
  const std::vector<int64_t> y = output_dims(c);
  const std::vector<int64_t> window(c.w.begin() + 1, c.w.end());
  Expected e;
  if (std::count(y.begin(), y.end(), 0) > 0) return e;
  std::vector<int64_t> at(y.size(), 0);
  do {
    std::vector<int64_t> tap(window.size(), 0), from(c.x.size());
    double sum = 0, magnitude = 0;
    do {
      from[0] = at[0];
      from[1] = at[1] / (c.w[0] / c.group) * c.w[1] + tap[0];
      bool inside = true;
      for (size_t d = 0; d + 2 < c.x.size(); ++d) {
        from[d + 2] = at[d + 2] * c.strides[d] - c.pads[d] + tap[d + 1] * c.dilations[d];
        inside = inside && from[d + 2] >= 0 && from[d + 2] < c.x[d + 2];
      }
      if (!inside) continue;
      std::vector<int64_t> weight{at[1]};
      weight.insert(weight.end(), tap.begin(), tap.end());
      const double product = (x[static_cast<size_t>(offset_of(c.x, from))] - x_zero) *
                             (w[static_cast<size_t>(offset_of(c.w, weight))] - w_zero);
      sum += product;
      magnitude += std::fabs(product);
    } while (next(tap, window));
    e.value.push_back(sum);
    e.magnitude.push_back(magnitude);
  } while (next(at, y));
  return e;
}

// The desc with the first layouts that the tactic names.
Desc desc_of(const Tactic& tactic, const Case& c, DType x, DType w, DType y,
             std::vector<TensorDesc> extra = {}, RegionProgram epilogue = {}) {
  Desc desc;
  ConvParams params;
  params.strides = c.strides;
  params.dilations = c.dilations;
  params.pads = c.pads;
  params.group = c.group;
  params.epilogue = std::move(epilogue);
  desc.params = params;
  desc.inputs = {TensorDesc{x, c.x}, TensorDesc{w, c.w}};
  desc.inputs[1].constant = true;
  for (TensorDesc& operand : extra) desc.inputs.push_back(operand);
  desc.outputs = {TensorDesc{y, output_dims(c)}};
  if (!tactic.layouts) return desc;
  const std::vector<Layout> layouts = tactic.layouts(desc).front();
  for (size_t i = 0; i < desc.inputs.size(); ++i) desc.inputs[i].layout = layouts[i];
  desc.outputs[0].layout = layouts.back();
  return desc;
}

std::vector<Case> cases_of(const std::string& name) {
  if (name.find("depthwise") != std::string::npos) return depthwise_cases();
  std::vector<Case> cases = dense_cases();
  if (name.find("stem") != std::string::npos) {
    std::erase_if(cases, [](const Case& c) { return c.x[1] > 8; });
  }
  if (name.find("im2col") == std::string::npos) return cases;
  for (const auto* more : {&depthwise_cases(), &general_cases()}) {
    cases.insert(cases.end(), more->begin(), more->end());
  }
  return cases;
}

std::string label(IsaLevel level, const std::string& name, const Case& c) {
  return std::string(isa_name(level)) + " " + name + " x" + shape_text(c.x) + " w" +
         shape_text(c.w);
}

TEST(ConvF32, AgreesWithDouble) {
  for (const char* name :
       {"conv_f32_c16", "conv_f32_stem", "conv_f32_depthwise_c16", "conv_f32_im2col"}) {
    for (const Case& c : cases_of(name)) {
      std::mt19937 random(11);
      const Tensor x = random_tensor(DType::kF32, c.x, random),
                   w = random_tensor(DType::kF32, c.w, random);
      const Expected e = reference(c, doubles(x), doubles(w), 0, 0);
      for (const IsaLevel level : levels()) {
        SCOPED_TRACE(label(level, name, c));
        const Tactic* tactic = find_tactic(level, name);
        ASSERT_NE(tactic, nullptr) << name;
        const Desc desc = desc_of(*tactic, c, DType::kF32, DType::kF32, DType::kF32);
        const RunResult whole = run_tactic(*tactic, desc, {x, w}, 1);
        ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
        const std::vector<double> y = logical(desc.outputs[0], whole.output);
        ASSERT_EQ(y.size(), e.value.size());
        for (size_t j = 0; j < y.size(); ++j) {
          ASSERT_NEAR(y[j], e.value[j], 1e-6 * e.magnitude[j] + 1e-12) << "element " << j;
        }
        for (const int pieces : {2, 5}) {
          EXPECT_TRUE(same_bytes(whole.output, run_tactic(*tactic, desc, {x, w}, pieces).output));
        }
      }
    }
  }
}

TEST(ConvI8, IsExact) {
  struct Types {
    DType x, w;
  };
  const Types kTypes[] = {{DType::kU8, DType::kI8},
                          {DType::kI8, DType::kI8},
                          {DType::kU8, DType::kU8},
                          {DType::kI8, DType::kU8}};
  for (const char* name : {"conv_i8_c16", "conv_i8_stem", "conv_i8_depthwise_c16"}) {
    for (const Case& c : cases_of(name)) {
      for (const Types t : kTypes)
        for (const bool zeros : {false, true}) {
          std::mt19937 random(12);
          const Tensor x = random_tensor(t.x, c.x, random), w = random_tensor(t.w, c.w, random);
          const int x_zero = !zeros ? 0 : t.x == DType::kU8 ? 255 : -128;
          const int w_zero = !zeros ? 0 : t.w == DType::kU8 ? 128 : 5;
          const Expected e = reference(c, doubles(x), doubles(w), x_zero, w_zero);
          for (const IsaLevel level : levels()) {
            SCOPED_TRACE(label(level, name, c));
            const Tactic* tactic = find_tactic(level, name);
            ASSERT_NE(tactic, nullptr) << name;
            Desc desc = desc_of(*tactic, c, t.x, t.w, DType::kI32);
            std::get<ConvParams>(desc.params).x_zero = x_zero;
            std::get<ConvParams>(desc.params).w_zero = w_zero;
            const RunResult whole = run_tactic(*tactic, desc, {x, w}, 1);
            ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
            ASSERT_EQ(logical(desc.outputs[0], whole.output), e.value);
            EXPECT_TRUE(same_bytes(whole.output, run_tactic(*tactic, desc, {x, w}, 3).output));
            const Tensor zero = carry_zero(desc, &ConvParams::x_zero, &ConvParams::x_zero_input);
            for (const Tactic* t : {tactic, reference_of(Family::kConv)}) {
              // The op refuses a window larger than its input.
              if (t->reference && logical_count(desc.outputs[0]) == 0) continue;
              const RunResult running = run_tactic(*t, desc, {x, w, zero}, 1);
              ASSERT_TRUE(running.status.is_ok()) << running.status.message();
              ASSERT_TRUE(same_bytes(whole.output, running.output)) << t->name;
            }
          }
        }
    }
  }
}

double silu(double v) { return v / (1 + std::exp(-v)); }

// The fused chain and a program that only the region executor runs, on every f32 tactic.
TEST(ConvF32, Epilogues) {
  for (const char* name :
       {"conv_f32_c16", "conv_f32_stem", "conv_f32_depthwise_c16", "conv_f32_im2col"}) {
    for (const Case& c : cases_of(name)) {
      const std::vector<int64_t> y_dims = output_dims(c);
      const int rank = static_cast<int>(y_dims.size());
      int64_t spatial = 1;
      for (int d = 2; d < rank; ++d) spatial *= y_dims[static_cast<size_t>(d)];
      std::mt19937 random(13);
      const Tensor x = random_tensor(DType::kF32, c.x, random),
                   w = random_tensor(DType::kF32, c.w, random);
      const Tensor bias = random_tensor(DType::kF32, {c.w[0]}, random);
      const Tensor rest = random_tensor(DType::kF32, y_dims, random);
      const TensorDesc vector{DType::kF32, {c.w[0]}, Layout::kPlain, Packing::kNone, true};
      const Expected e = reference(c, doubles(x), doubles(w), 0, 0);
      for (const IsaLevel level : levels()) {
        SCOPED_TRACE(label(level, name, c));
        const Tactic* tactic = find_tactic(level, name);
        const Desc fused = desc_of(*tactic, c, DType::kF32, DType::kF32, DType::kF32,
                                   {vector, TensorDesc{DType::kF32, y_dims}},
                                   bias_residual_clamp(rank, 1, 0.125, 2));
        const Desc general = desc_of(*tactic, c, DType::kF32, DType::kF32, DType::kF32, {vector},
                                     bias_silu(rank, 1));
        const RunResult a = run_tactic(*tactic, fused, {x, w, bias, rest}, 2);
        const RunResult b = run_tactic(*tactic, general, {x, w, bias}, 3);
        ASSERT_TRUE(a.status.is_ok()) << a.status.message();
        ASSERT_TRUE(b.status.is_ok()) << b.status.message();
        const std::vector<double> ya = logical(fused.outputs[0], a.output),
                                  yb = logical(general.outputs[0], b.output);
        ASSERT_EQ(ya.size(), e.value.size());
        for (size_t j = 0; j < ya.size(); ++j) {
          const auto channel = j / static_cast<size_t>(spatial) % static_cast<size_t>(c.w[0]);
          const double sum = e.value[j] + bias.values<float>()[channel];
          ASSERT_NEAR(ya[j], std::clamp(sum + rest.values<float>()[j], 0.125, 2.0), 1e-4) << j;
          ASSERT_NEAR(yb[j], silu(sum), 1e-4) << j;
        }
      }
    }
  }
}

TEST(ConvI8, FusedRequantizationIsExactAndEqualOnAllLevels) {
  for (const char* name : {"conv_i8_c16", "conv_i8_stem", "conv_i8_depthwise_c16"}) {
    for (const Case& c : cases_of(name)) {
      std::vector<Buffer> outputs;
      const std::vector<int64_t> y_dims = output_dims(c);
      const int rank = static_cast<int>(y_dims.size());
      int64_t spatial = 1;
      for (int d = 2; d < rank; ++d) spatial *= y_dims[static_cast<size_t>(d)];
      std::mt19937 random(14);
      const Tensor x = random_tensor(DType::kU8, c.x, random),
                   w = random_tensor(DType::kI8, c.w, random);
      const Tensor bias = random_tensor(DType::kI32, {c.w[0]}, random);
      Tensor scale = random_tensor(DType::kF32, {c.w[0]}, random);
      for (float& s : scale.values<float>()) s = 0.001f + 0.002f * std::fabs(s);
      const Expected e = reference(c, doubles(x), doubles(w), 128, 0);
      for (const IsaLevel level : levels()) {
        SCOPED_TRACE(label(level, name, c));
        const Tactic* tactic = find_tactic(level, name);
        const TensorDesc integers{DType::kI32, {c.w[0]}, Layout::kPlain, Packing::kNone, true};
        const TensorDesc floats{DType::kF32, {c.w[0]}, Layout::kPlain, Packing::kNone, true};
        Desc desc = desc_of(*tactic, c, DType::kU8, DType::kI8, DType::kI8, {integers, floats},
                            requantize(rank, 1, -9, DType::kI8));
        std::get<ConvParams>(desc.params).x_zero = 128;
        const RunResult run = run_tactic(*tactic, desc, {x, w, bias, scale}, 2);
        ASSERT_TRUE(run.status.is_ok()) << run.status.message();
        const std::vector<double> y = logical(desc.outputs[0], run.output);
        for (size_t j = 0; j < y.size(); ++j) {
          const auto channel = j / static_cast<size_t>(spatial) % static_cast<size_t>(c.w[0]);
          const float sum = static_cast<float>(e.value[j] + bias.values<int32_t>()[channel]);
          const float rounded = std::nearbyint(sum * scale.values<float>()[channel]) - 9.0f;
          ASSERT_EQ(y[j], std::clamp(rounded, -128.0f, 127.0f)) << j;
        }
        outputs.push_back(run.output);
        EXPECT_TRUE(same_bytes(outputs.front(), outputs.back()));
      }
    }
  }
}

TEST(Conv, RefusesWithAReason) {
  const IsaLevel level = IsaLevel::kBaseline;
  const auto reason = [&](const char* name, const Desc& desc) {
    return find_tactic(level, name)->supports(desc).message();
  };
  const Tactic& c16 = *find_tactic(level, "conv_f32_c16");
  Desc plain = desc_of(c16, dense_cases()[2], DType::kF32, DType::kF32, DType::kF32);
  plain.inputs[0].layout = Layout::kPlain;
  EXPECT_NE(reason("conv_f32_c16", plain).find("x is"), std::string::npos);
  EXPECT_NE(reason("conv_f32_stem", plain).find("33 input channels"), std::string::npos);
  const Desc grouped = desc_of(c16, general_cases()[0], DType::kF32, DType::kF32, DType::kF32);
  EXPECT_NE(reason("conv_f32_c16", grouped).find("3 groups"), std::string::npos);
  EXPECT_NE(reason("conv_f32_depthwise_c16", grouped).find("not a depthwise"), std::string::npos);
  const Desc bytes = desc_of(c16, dense_cases()[2], DType::kU8, DType::kI8, DType::kI32);
  EXPECT_NE(reason("conv_f32_c16", bytes).find("expected f32"), std::string::npos);
}

}  // namespace
}  // namespace stoker::test
