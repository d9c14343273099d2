// The error that sines near zero carry on covers what f32 makes of them, and little more.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/region_error.h"

namespace stoker {
namespace {

RegionInstruction step(RegionOp op, int a = -1, int b = -1) {
  return {op, DType::kF32, {a, b, -1}, 0};
}

// cos(x)^2 * y, the window of a resampling filter.
RegionProgram window() {
  RegionProgram program;
  program.rank = 1;
  program.reduced = {0};
  program.instructions = {step(RegionOp::kInput, 0), step(RegionOp::kCos, 0),
                          step(RegionOp::kMul, 1, 1), step(RegionOp::kInput, 1),
                          step(RegionOp::kMul, 2, 3)};
  return program;
}

TEST(SineError, CoversTheZeroOfAWindow) {
  for (const double x : {0.0, 0.3, 1.0, M_PI / 2, 3 * M_PI / 2, 11 * M_PI / 2, 40.0}) {
    const double y = 0.7, exact = std::cos(x) * std::cos(x) * y;
    const float c = std::cos(static_cast<float>(x));
    const double found = c * c * static_cast<float>(y);
    const std::vector<RegionCell> cells = {
        {x, 0}, {std::cos(x), 0}, {std::cos(x) * std::cos(x), 0}, {y, 0}, {exact, 0}};
    const double error = sine_error(window(), cells, 4);
    EXPECT_GE(error + 1e-6 * std::fabs(exact), std::fabs(found - exact)) << x;
    EXPECT_LT(error, 1e-6 * (1 + x)) << x;  // of the order of the argument's rounding
  }
}

TEST(SineError, IsNothingWithoutSines) {
  RegionProgram program = window();
  program.instructions[1].op = RegionOp::kExp;
  EXPECT_FALSE(has_sine(program));
  const std::vector<RegionCell> cells(5, RegionCell{1, 0});
  EXPECT_EQ(sine_error(program, cells, 4), 0);
}

}  // namespace
}  // namespace stoker
