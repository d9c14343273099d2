// Region: the one mechanism for fused pointwise and reduction work: a small typed program over an
// iteration space. Instructions are evaluated in order for every point; reduce steps reduce over
// the axis group `reduced` and their results are the same for all points of a row (re-broadcast),
// so softmax is max, sub, exp, sum, div. Integer arithmetic is exact in the instruction's dtype,
// f32 is computed in f32, a cast is a rounding point.
//
// The same program serves as the epilogue of a gemm or conv: input 0 is then the accumulator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stoker/dtype.h"

namespace stoker {

enum class RegionOp : uint8_t {
  kInput,     // args[0]: which input
  kConstant,  // `constant`
  kIota,      // args[0]: iteration dim; the index along it
  // unary: args[0]
  kNeg,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kReciprocal,
  kTanh,
  kErf,
  kSigmoid,
  kFloor,
  kCeil,
  kRoundEven,
  kSign,
  kSin,
  kCos,
  kNot,
  kCast,
  // binary: args[0], args[1]; comparisons give bool; min and max pass NaN on
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kPow,
  kMod,
  kEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kXor,
  kSelect,  // args[0] (bool) ? args[1] : args[2]
  // reductions over the reduced axes: args[0]
  kReduceSum,
  kReduceMean,
  kReduceMax,
  kReduceMin,
  kReduceProd,
};
inline constexpr int kRegionOpCount = static_cast<int>(RegionOp::kReduceProd) + 1;

const char* region_op_name(RegionOp op);
int region_op_arity(RegionOp op);  // number of args that name instructions
bool is_reduction(RegionOp op);

struct RegionInstruction {
  RegionOp op = RegionOp::kConstant;
  DType dtype = DType::kF32;                // of the result
  std::array<int32_t, 3> args{-1, -1, -1};  // earlier instructions, or as said at the op
  double constant = 0;                      // of kConstant; integers up to 2^53 exactly
};

// Index map of an operand: dim_of[d] = the operand's dim that iteration dim d walks along, or -1.
// An extent of 1 under a larger iteration extent is broadcast; that is decided at bind.
struct RegionOperand {
  std::vector<int8_t> dim_of;
};

struct RegionOutput {
  int32_t value = 0;  // instruction whose result is stored; cast to the operand's dtype beforehand
  RegionOperand map;  // reduced axes that the output lacks map to -1
};

struct RegionProgram {
  int32_t rank = 0;              // iteration dims
  std::vector<uint8_t> reduced;  // rank flags; all 0: purely pointwise
  std::vector<RegionOperand> inputs;
  std::vector<RegionInstruction> instructions;
  std::vector<RegionOutput> outputs;

  bool empty() const { return outputs.empty(); }  // as an epilogue: store the accumulator as it is
  bool has_reduction() const;
};

std::string region_text(const RegionProgram& program);  // one line, canonical; part of desc keys

// Checks indices, arities, ranks, dtypes against each other; used by the verifier of engine files.
// `operand_ranks`: ranks of the inputs followed by the outputs. Empty text = fine.
std::string check_region(const RegionProgram& program, const std::vector<int>& operand_ranks);

}  // namespace stoker
