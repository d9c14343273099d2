// Epilogue programs that the gemm and conv tests share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/desc/region.h"

namespace stoker::test {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(int rank) {
    program_.rank = rank;
    program_.reduced.assign(static_cast<size_t>(rank), 0);
    tensor_input();
  }
  int accumulator(DType dtype) { return emit(RegionOp::kInput, dtype, 0); }
  int emit(RegionOp op, DType dtype, int a = -1, int b = -1, double constant = 0) {
    program_.instructions.push_back({op, dtype, {a, b, -1}, constant});
    return static_cast<int>(program_.instructions.size()) - 1;
  }
  int constant(double value) { return emit(RegionOp::kConstant, DType::kF32, -1, -1, value); }
  // An operand [C] along one dim; an operand of the whole space.
  int channel(DType dtype, int dim) {
    RegionOperand operand;
    operand.dim_of.assign(static_cast<size_t>(program_.rank), -1);
    operand.dim_of[static_cast<size_t>(dim)] = 0;
    program_.inputs.push_back(operand);
    return emit(RegionOp::kInput, dtype, static_cast<int>(program_.inputs.size()) - 1);
  }
  int tensor(DType dtype) {
    tensor_input();
    return emit(RegionOp::kInput, dtype, static_cast<int>(program_.inputs.size()) - 1);
  }
  RegionProgram finish(int value) {
    program_.outputs.push_back({value, program_.inputs[0]});
    return program_;
  }

 private:
  void tensor_input() {
    RegionOperand operand;
    for (int d = 0; d < program_.rank; ++d) operand.dim_of.push_back(static_cast<int8_t>(d));
    program_.inputs.push_back(operand);
  }
  RegionProgram program_;
};

// min(max(acc + bias[channel] + residual, low), high)
inline RegionProgram bias_residual_clamp(int rank, int dim, double low, double high) {
  ProgramBuilder b(rank);
  const DType f = DType::kF32;
  int value = b.emit(RegionOp::kAdd, f, b.accumulator(f), b.channel(f, dim));
  value = b.emit(RegionOp::kAdd, f, value, b.tensor(f));
  value = b.emit(RegionOp::kMax, f, value, b.constant(low));
  return b.finish(b.emit(RegionOp::kMin, f, value, b.constant(high)));
}

// clamp(round((acc + bias[channel]) * scale[channel]) + zero)
inline RegionProgram requantize(int rank, int dim, int zero, DType to) {
  ProgramBuilder b(rank);
  const DType f = DType::kF32, i = DType::kI32;
  int value = b.emit(RegionOp::kAdd, i, b.accumulator(i), b.channel(i, dim));
  value = b.emit(RegionOp::kMul, f, b.emit(RegionOp::kCast, f, value), b.channel(f, dim));
  value = b.emit(RegionOp::kAdd, f, b.emit(RegionOp::kRoundEven, f, value), b.constant(zero));
  const double low = to == DType::kU8 ? 0 : -128;
  value = b.emit(RegionOp::kMax, f, value, b.constant(low));
  value = b.emit(RegionOp::kMin, f, value, b.constant(low + 255));
  return b.finish(b.emit(RegionOp::kCast, to, value));
}

// v * sigmoid(v) with v = acc + bias[channel]: not a chain, so that the region executor runs it.
inline RegionProgram bias_silu(int rank, int dim) {
  ProgramBuilder b(rank);
  const DType f = DType::kF32;
  const int value = b.emit(RegionOp::kAdd, f, b.accumulator(f), b.channel(f, dim));
  return b.finish(b.emit(RegionOp::kMul, f, value, b.emit(RegionOp::kSigmoid, f, value)));
}

}  // namespace stoker::test
