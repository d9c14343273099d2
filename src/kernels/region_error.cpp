// SPDX-License-Identifier: Apache-2.0
#include "kernels/region_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace stoker {
namespace {

// Error of an operation's result from those of its arguments.
double carried(const RegionInstruction& instruction, double result, const double (&x)[3],
               const double (&error)[3]) {
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const double size = std::fabs(result);
  switch (instruction.op) {
    case RegionOp::kSin:
    case RegionOp::kCos: return error[0] + 4 * kEpsilon * (1 + std::fabs(x[0]));
    case RegionOp::kNeg:
    case RegionOp::kAbs:
    case RegionOp::kCast:
    case RegionOp::kFloor:
    case RegionOp::kCeil:
    case RegionOp::kRoundEven:
    case RegionOp::kTanh:
    case RegionOp::kErf:
    case RegionOp::kSigmoid: return 1.2 * error[0];
    case RegionOp::kAdd:
    case RegionOp::kSub: return error[0] + error[1];
    case RegionOp::kMin:
    case RegionOp::kMax: return std::max(error[0], error[1]);
    case RegionOp::kSelect: return std::max(error[1], error[2]);
    case RegionOp::kMul:
      return std::fabs(x[0]) * error[1] + std::fabs(x[1]) * error[0] + error[0] * error[1];
    case RegionOp::kDiv: return (error[0] + size * error[1]) / std::fabs(x[1]);
    case RegionOp::kReciprocal: return size * size * error[0];
    case RegionOp::kSqrt: return size > 0 ? error[0] / size : std::sqrt(error[0]);
    case RegionOp::kExp: return size * std::expm1(error[0]);
    case RegionOp::kLog: return error[0] / std::fabs(x[0]);
    case RegionOp::kPow:
      // x^p moves by p x^(p-1) dx, and where x is no larger than its error, by that to the p.
      return std::max(std::fabs(x[1]) * size / std::max(std::fabs(x[0]), 1e-300) * error[0],
                      x[1] >= 1 ? std::pow(error[0], x[1]) : error[0]);
    default: return 0;
  }
}

}  // namespace

bool has_sine(const RegionProgram& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(), [](const auto& i) {
    return i.op == RegionOp::kSin || i.op == RegionOp::kCos;
  });
}

double sine_error(const RegionProgram& program, std::span<const RegionCell> cells, int32_t value) {
  std::vector<double> errors(static_cast<size_t>(value) + 1, 0);
  for (size_t i = 0; i < errors.size(); ++i) {
    const RegionInstruction& instruction = program.instructions[i];
    double x[3] = {}, error[3] = {};
    for (int k = 0; k < region_op_arity(instruction.op); ++k) {
      const auto argument = static_cast<size_t>(instruction.args[static_cast<size_t>(k)]);
      x[k] = cells[argument].number;
      error[k] = errors[argument];
    }
    const double made = carried(instruction, cells[i].number, x, error);
    errors[i] = std::isfinite(made) ? made : 0;
  }
  return errors.back();
}

}  // namespace stoker
