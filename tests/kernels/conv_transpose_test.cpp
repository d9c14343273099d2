// Transposed convolution tactics on every ISA level against a plain scatter in double precision:
// strides, dilations, pads, output padding, groups, 1 to 3 spatial dims, both layouts of the input,
// epilogues; bits independent of the split of the units.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/epilogues.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

struct Case {
  std::vector<int64_t> x, w;
  std::vector<int64_t> strides, dilations, pads;  // ends of pads less output padding
  int64_t group = 1;
};

std::vector<int64_t> output_dims(const Case& c) {
  std::vector<int64_t> y{c.x[0], c.w[1] * c.group};
  const size_t spatial = c.x.size() - 2;
  for (size_t d = 0; d < spatial; ++d) {
    y.push_back((c.x[d + 2] - 1) * c.strides[d] + (c.w[d + 2] - 1) * c.dilations[d] + 1 -
                c.pads[d] - c.pads[d + spatial]);
  }
  return y;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {{1, 24, 20, 19}, {24, 24, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 24, 21, 33}, {24, 1, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{2, 5, 7, 9}, {5, 18, 3, 3}, {2, 2}, {1, 1}, {1, 1, 0, 0}},
      {{1, 33, 6, 5}, {33, 40, 4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 8, 13, 12}, {8, 17, 3, 2}, {2, 3}, {2, 3}, {2, 1, 0, -2}},
      {{1, 3, 4, 300}, {3, 20, 1, 3}, {1, 1}, {1, 1}, {0, 1, 0, 1}},
      {{1, 4, 3, 3}, {4, 4, 1, 1}, {3, 2}, {1, 1}, {0, 0, -2, -1}},
      {{1, 4, 3, 3}, {4, 9, 1, 1}, {3, 2}, {1, 1}, {0, 0, -2, -1}},
      {{1, 3, 2, 3}, {3, 12, 2, 3}, {1, 900}, {1, 1}, {0, 1, 0, 0}},
      {{1, 3, 5}, {3, 2, 2}, {5000}, {1}, {0, 0}},
      {{1, 16, 8, 8}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 70, 4, 4}, {70, 80, 5, 5}, {2, 2}, {1, 1}, {2, 2, 1, 1}},
      {{3, 7, 40}, {7, 33, 5}, {3}, {1}, {2, 1}},
      {{1, 20, 700}, {20, 10, 16}, {8}, {1}, {4, 4}},
      {{1, 2, 5, 5}, {2, 3, 9, 9}, {4, 4}, {1, 1}, {6, 6, 5, 5}},
      {{1, 2, 5, 5}, {2, 13, 9, 9}, {4, 4}, {1, 1}, {6, 6, 5, 5}},
      {{0, 4, 8, 8}, {4, 16, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 3, 4, 5, 6}, {3, 4, 2, 3, 2}, {2, 1, 2}, {1, 2, 1}, {1, 0, 0, 0, 1, -1}},
      {{2, 12, 6, 7}, {12, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1, 0, 0}, 3},
      {{1, 21, 6, 6}, {21, 1, 4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 21},
  };
  return kCases;
}

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

struct Expected {
  std::vector<double> value, magnitude;
};

// Every weight times every pixel, added where it belongs.
Expected scatter(const Case& c, const std::vector<double>& x, const std::vector<double>& w) {
  const std::vector<int64_t> y = output_dims(c);
  size_t count = 1;
  for (const int64_t extent : y) count *= static_cast<size_t>(extent);
  Expected e{std::vector<double>(count), std::vector<double>(count)};
  if (c.x[0] == 0) return e;
  std::vector<int64_t> at(c.x.size(), 0), to(c.x.size());
  do {
    std::vector<int64_t> tap(c.w.begin() + 1, c.w.end());
    std::fill(tap.begin(), tap.end(), 0);
    do {
      bool inside = true;
      to[0] = at[0];
      to[1] = at[1] / (c.x[1] / c.group) * c.w[1] + tap[0];
      for (size_t d = 2; d < to.size(); ++d) {
        to[d] = at[d] * c.strides[d - 2] - c.pads[d - 2] + tap[d - 1] * c.dilations[d - 2];
        inside = inside && to[d] >= 0 && to[d] < y[d];
      }
      if (!inside) continue;
      std::vector<int64_t> weight{at[1]};
      weight.insert(weight.end(), tap.begin(), tap.end());
      const double product = x[static_cast<size_t>(offset_of(c.x, at))] *
                             w[static_cast<size_t>(offset_of(c.w, weight))];
      e.value[static_cast<size_t>(offset_of(y, to))] += product;
      e.magnitude[static_cast<size_t>(offset_of(y, to))] += std::fabs(product);
    } while (next(tap, std::vector<int64_t>(c.w.begin() + 1, c.w.end())));
  } while (next(at, c.x));
  return e;
}

Desc plain_desc(const Case& c, std::vector<TensorDesc> extra = {}, RegionProgram epilogue = {}) {
  ConvParams params;
  params.transposed = true;
  params.strides = c.strides;
  params.dilations = c.dilations;
  params.pads = c.pads;
  params.group = c.group;
  params.epilogue = std::move(epilogue);
  Desc desc;
  desc.params = params;
  desc.inputs = {TensorDesc{DType::kF32, c.x}, TensorDesc{DType::kF32, c.w}};
  desc.inputs[1].constant = true;
  for (TensorDesc& operand : extra) desc.inputs.push_back(std::move(operand));
  desc.outputs = {TensorDesc{DType::kF32, output_dims(c)}};
  return desc;
}

bool is_taken(const std::string& name, const Case& c) {
  const bool blocked = c.group == 1 && c.x.size() <= 4 && c.w[1] >= 8;
  return name != "conv_transpose_f32_c16" || blocked;
}

// Calls check(tactic, desc in its layouts) for every level and every set of layouts.
template <class Check>
void on_every_tactic(const Case& c, const Desc& plain, Check check) {
  for (const IsaLevel level : levels()) {
    for (const char* name : {"conv_transpose_f32_c16", "conv_transpose_f32_plain"}) {
      if (!is_taken(name, c)) continue;
      const Tactic* tactic = find_tactic(level, name);
      ASSERT_NE(tactic, nullptr) << name;
      for (const std::vector<Layout>& layouts : tactic->layouts(plain)) {
        Desc desc = plain;
        for (size_t i = 0; i < desc.inputs.size(); ++i) desc.inputs[i].layout = layouts[i];
        desc.outputs[0].layout = layouts.back();
        if (c.x.size() > 4 && layouts[0] != layouts.back()) continue;
        SCOPED_TRACE(std::string(isa_name(level)) + " " + name + " x" + shape_text(c.x) + " " +
                     layout_name(layouts[0]) + " w" + shape_text(c.w));
        check(*tactic, desc);
      }
    }
  }
}

TEST(ConvTransposeF32, AgreesWithDouble) {
  for (const Case& c : cases()) {
    std::mt19937 random(11);
    const Tensor x = random_tensor(DType::kF32, c.x, random),
                 w = random_tensor(DType::kF32, c.w, random);
    const Expected e = scatter(c, doubles(x), doubles(w));
    on_every_tactic(c, plain_desc(c), [&](const Tactic& tactic, const Desc& desc) {
      const RunResult whole = run_tactic(tactic, desc, {x, w}, 1);
      ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
      const std::vector<double> y = logical(desc.outputs[0], whole.output);
      ASSERT_EQ(y.size(), e.value.size());
      for (size_t j = 0; j < y.size(); ++j)
        ASSERT_NEAR(y[j], e.value[j], 1e-6 * e.magnitude[j] + 1e-12) << "element " << j;
      for (const int pieces : {2, 5})
        EXPECT_TRUE(same_bytes(whole.output, run_tactic(tactic, desc, {x, w}, pieces).output));
    });
  }
}

TEST(ConvTransposeF32, ReferenceAgreesWithDouble) {
  for (const Case& c : cases()) {
    std::mt19937 random(12);
    const Tensor x = random_tensor(DType::kF32, c.x, random),
                 w = random_tensor(DType::kF32, c.w, random);
    const Expected e = scatter(c, doubles(x), doubles(w));
    const Desc desc = plain_desc(c);
    const RunResult run = run_tactic(*reference_of(Family::kConv), desc, {x, w}, 1);
    ASSERT_TRUE(run.status.is_ok()) << run.status.message();
    const std::vector<double> y = logical(desc.outputs[0], run.output);
    for (size_t j = 0; j < y.size(); ++j)
      ASSERT_NEAR(y[j], e.value[j], 1e-6 * e.magnitude[j] + 1e-12) << "element " << j;
  }
}

// The fused chain, and a program that only the region executor runs.
TEST(ConvTransposeF32, Epilogues) {
  for (const Case& c : cases()) {
    const std::vector<int64_t> dims = output_dims(c);
    const int rank = static_cast<int>(dims.size());
    std::mt19937 random(13);
    const Tensor x = random_tensor(DType::kF32, c.x, random),
                 w = random_tensor(DType::kF32, c.w, random),
                 bias = random_tensor(DType::kF32, {dims[1]}, random),
                 residual = random_tensor(DType::kF32, dims, random);
    const Expected e = scatter(c, doubles(x), doubles(w));
    const std::vector<double> b = doubles(bias), r = doubles(residual);
    int64_t pixels = 1;
    for (int d = 2; d < rank; ++d) pixels *= dims[static_cast<size_t>(d)];
    const auto at = [&](size_t j) {
      return e.value[j] + b[j / static_cast<size_t>(pixels) % static_cast<size_t>(dims[1])];
    };
    TensorDesc channel{DType::kF32, {dims[1]}};
    channel.constant = true;
    const Desc fused = plain_desc(c, {channel, TensorDesc{DType::kF32, dims}},
                                  bias_residual_clamp(rank, 1, -0.5, 0.75));
    on_every_tactic(c, fused, [&](const Tactic& tactic, const Desc& desc) {
      const RunResult run = run_tactic(tactic, desc, {x, w, bias, residual}, 3);
      ASSERT_TRUE(run.status.is_ok()) << run.status.message();
      const std::vector<double> y = logical(desc.outputs[0], run.output);
      for (size_t j = 0; j < y.size(); ++j)
        ASSERT_NEAR(y[j], std::clamp(at(j) + r[j], -0.5, 0.75), 2e-5) << "element " << j;
    });
    on_every_tactic(c, plain_desc(c, {channel}, bias_silu(rank, 1)),
                    [&](const Tactic& tactic, const Desc& desc) {
                      const RunResult run = run_tactic(tactic, desc, {x, w, bias}, 3);
                      ASSERT_TRUE(run.status.is_ok()) << run.status.message();
                      const std::vector<double> y = logical(desc.outputs[0], run.output);
                      for (size_t j = 0; j < y.size(); ++j) {
                        const double value = at(j) / (1 + std::exp(-at(j)));
                        ASSERT_NEAR(y[j], value, 2e-5) << "element " << j;
                      }
                    });
  }
}

TEST(ConvTransposeF32, OtherConvolutionsRefuse) {
  const Desc desc = plain_desc(cases()[0]);
  for (const char* name :
       {"conv_f32_c16", "conv_f32_stem", "conv_f32_depthwise_c16", "conv_f32_im2col"}) {
    const Status status = find_tactic(levels().back(), name)->supports(desc);
    EXPECT_NE(status.message().find("transposed"), std::string::npos)
        << name << ": " << status.message();
  }
}

}  // namespace
}  // namespace stoker::test
