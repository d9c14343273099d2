// What conv and gemm share: the quantized form of an anchor and the epilogue behind its
// accumulator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/region_builder.h"

namespace stoker {

// A dequantized operand inside a group: its integer source, scale and the one zero point.
struct QuantizedOperand {
  const Node* dequantize = nullptr;
  const Value* source = nullptr;
  Tensor scale;  // f32, one element or one per channel
  int32_t zero = 0;
};

// The operand's dequantize_linear when it is a member of the group: nothing when the operand is not
// dequantized here, an error when it is in a form that integer kernels do not take.
Result<std::optional<QuantizedOperand>> quantized_operand(const NodeGroup& group,
                                                          const Value* value, int64_t channel_axis);

// The zero points of a matmul_integer or conv_integer, whose operands are 8-bit integers: that of
// the first operand may be known only while running, that of the second is one constant number.
struct IntegerZeros {
  int32_t first = 0, second = 0;
  const Value* running = nullptr;  // of the first operand, which is 0 then
};
Result<IntegerZeros> integer_zeros(const Node& anchor);

// The bias of an anchor, if any, and how it lies.
struct AnchorBias {
  const Value* value = nullptr;
  int64_t axis =
      -1;  // >= 0: rank 1 along this dim of the output; -1: broadcast by trailing alignment
  double factor = 1;  // beta of a gemm
};

// Builds the epilogue of `anchor` over its output: accumulator [* scales], bias, the members that
// follow. `x` and `w` are both given (dequantized integers), both absent, or `w` alone is (f32 by
// 8-bit weights). `zero` is a zero point to carry along. Returns the operands behind inputs 0 and
// 1.
struct Epilogue {
  RegionProgram program;  // empty: the accumulator is stored as it is
  std::vector<LoweredOperand> operands;
  int32_t zero_input = -1;  // the step's operand that holds `zero`
};
Result<Epilogue> build_epilogue(const NodeGroup& group, const std::optional<QuantizedOperand>& x,
                                const std::optional<QuantizedOperand>& w, const AnchorBias& bias,
                                int64_t channel_axis, double alpha, const Value* zero = nullptr);

}  // namespace stoker
