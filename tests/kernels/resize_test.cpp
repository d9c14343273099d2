// Resize tactics and the reference tactic on every ISA level and in every layout they ask for,
// against the op's own evaluation: modes, coordinates, rounding, antialiasing, scales and sizes,
// ranks, dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference_parts.h"
#include "ops/op.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

struct Case {
  std::vector<int64_t> x, y;
  ResampleRule rule;
  std::vector<double> scales;  // empty: sizes decide
};

Desc desc_of(const Case& c, DType dtype = DType::kF32) {
  return {ResizeParams{c.rule, c.scales}, {{dtype, c.x}}, {{dtype, c.y}}};
}

// What the op gives, in double precision unless the dtype is an integer.
std::vector<double> expected(const Case& c, const Tensor& x) {
  const ResampleRule& r = c.rule;
  Attributes attributes;
  attributes.set("mode", std::string(kResampleModes[static_cast<size_t>(r.mode)]));
  attributes.set("nearest_mode", std::string(kResampleNearest[static_cast<size_t>(r.nearest)]));
  attributes.set("coordinate_transformation_mode",
                 std::string(kResampleCoordinates[static_cast<size_t>(r.coordinates)]));
  attributes.set("antialias", int64_t{r.antialias});
  attributes.set("exclude_outside", int64_t{r.exclude_outside});
  attributes.set("cubic_coeff_a", r.cubic_a);
  const auto rank = static_cast<int64_t>(c.x.size());
  const DType wide = is_float(x.dtype()) ? DType::kF64 : x.dtype();
  Tensor from = x;
  if (wide == DType::kF64) from = Tensor::from<double>(c.x, doubles(x));
  const Tensor operand = c.scales.empty() ? Tensor::from<int64_t>({rank}, c.y)
                                          : Tensor::from<double>({rank}, c.scales);
  const Tensor to = *Tensor::allocate(wide, c.y);
  std::vector<TensorView> inputs{view_of(from), {}, {}, {}};
  inputs[c.scales.empty() ? 3 : 2] = view_of(operand);
  const std::vector<TensorView> outputs{view_of(to)};
  const Status status = evaluate_reference("resize", attributes, inputs, outputs, {});
  EXPECT_TRUE(status.is_ok()) << status.message();
  if (wide != DType::kF64) return doubles(to);
  const auto values = to.values<double>();
  return {values.begin(), values.end()};
}

std::vector<Case> cases() {
  using Mode = ResampleRule::Mode;
  using Coordinates = ResampleRule::Coordinates;
  std::vector<Case> all;
  // Shapes with and without a change of each axis; batch, channels and rows may change too.
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes = {
      {{1, 3, 5, 7}, {1, 3, 10, 14}},
      {{2, 21, 4, 6}, {2, 21, 9, 4}},
      {{1, 17, 6, 5}, {1, 17, 6, 15}},
      {{1, 2, 9, 9}, {1, 2, 4, 3}},
      {{1, 16, 33}, {1, 16, 70}},
      {{1, 4, 3, 4, 5}, {1, 4, 6, 2, 7}},
      {{1, 9, 11, 20}, {1, 18, 22, 20}},
      {{7, 6}, {3, 40}},
      {{1, 5, 1, 1}, {1, 5, 3, 4}},
      {{1, 8, 3, 4}, {1, 8, 1, 1}},
      {{9}, {4}},
      {{0, 3, 4, 4}, {0, 3, 8, 8}},
      {{1, 3, 4, 4}, {1, 3, 0, 8}}};
  int number = 0;
  for (const auto& [x, y] : shapes) {
    for (const Mode mode : {Mode::kNearest, Mode::kLinear, Mode::kCubic}) {
      for (int coordinates = 0; coordinates < static_cast<int>(Coordinates::kTfCropAndResize);
           ++coordinates, ++number) {
        Case c{x, y, {}, {}};
        c.rule.mode = mode;
        c.rule.coordinates = static_cast<Coordinates>(coordinates);
        c.rule.nearest = static_cast<ResampleRule::Nearest>(number % 5);
        c.rule.antialias = mode != Mode::kNearest && number % 3 == 0;
        c.rule.exclude_outside = mode == Mode::kCubic && number % 4 == 0;
        c.rule.cubic_a = number % 2 ? -0.75 : -0.5;
        if (number % 2) {
          for (size_t d = 0; d < x.size(); ++d)
            c.scales.push_back(static_cast<double>(y[d]) /
                                   static_cast<double>(std::max<int64_t>(x[d], 1)) +
                               (x[d] == y[d] || y[d] == 0 ? 0 : 0.01));
          for (size_t d = 0; d < x.size(); ++d) c.scales[d] = c.scales[d] > 0 ? c.scales[d] : 1;
        }
        all.push_back(c);
      }
    }
  }
  return all;
}

void expect_close(const Desc& desc, const RunResult& run, const std::vector<double>& wanted) {
  ASSERT_TRUE(run.status.is_ok()) << run.status.message();
  const std::vector<double> y = logical(desc.outputs[0], run.output);
  ASSERT_EQ(y.size(), wanted.size());
  for (size_t j = 0; j < y.size(); ++j) ASSERT_NEAR(y[j], wanted[j], 4e-6) << "element " << j;
}

TEST(Resize, TacticsAgreeWithTheOp) {
  std::mt19937 random(3);
  int taken = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(desc_key(desc_of(c)));
    const Tensor x = random_tensor(DType::kF32, c.x, random);
    const std::vector<double> wanted = expected(c, x);
    expect_close(desc_of(c), run_tactic(*reference_of(Family::kResize), desc_of(c), {x}, 1),
                 wanted);
    for (const IsaLevel level : levels()) {
      const bool nearest = c.rule.mode == ResampleRule::Mode::kNearest;
      const Tactic* tactic = find_tactic(level, nearest ? "resize_nearest" : "resize_taps");
      ASSERT_NE(tactic, nullptr);
      for (const std::vector<Layout>& layouts : tactic->layouts(desc_of(c))) {
        Desc desc = desc_of(c);
        desc.inputs[0].layout = layouts[0];
        desc.outputs[0].layout = layouts[1];
        if (c.rule.exclude_outside && layouts[0] == Layout::kC16) continue;  // refused
        SCOPED_TRACE(std::string(isa_name(level)) + " " + layout_name(layouts[0]));
        const RunResult whole = run_tactic(*tactic, desc, {x}, 1);
        expect_close(desc, whole, wanted);
        for (const int pieces : {2, 5})
          EXPECT_TRUE(same_bytes(whole.output, run_tactic(*tactic, desc, {x}, pieces).output));
        ++taken;
      }
    }
  }
  EXPECT_GT(taken, 300);
}

TEST(Resize, NearestMovesBytesOfAnyDtype) {
  std::mt19937 random(4);
  for (const DType dtype : {DType::kU8, DType::kF16, DType::kI32, DType::kI64, DType::kC128}) {
    for (const auto& [x, y] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
             {{1, 3, 5, 7}, {1, 3, 10, 14}}, {{2, 4, 6, 3}, {2, 8, 5, 3}}, {{3, 5}, {7, 2}}}) {
      const Desc desc = desc_of({x, y, {}, {}}, dtype);
      expect_same_bits("resize_nearest", desc, {random_bytes(desc.inputs[0], random)});
    }
  }
}

TEST(Resize, Refusals) {
  Case c{{1, 3, 4, 4}, {1, 3, 8, 8}, {}, {}};
  const Tactic& taps = *find_tactic(levels().back(), "resize_taps");
  EXPECT_FALSE(taps.supports(desc_of(c)).is_ok());  // nearest
  c.rule.mode = ResampleRule::Mode::kLinear;
  EXPECT_TRUE(taps.supports(desc_of(c)).is_ok());
  EXPECT_FALSE(taps.supports(desc_of(c, DType::kF16)).is_ok());
}

}  // namespace
}  // namespace stoker::test
