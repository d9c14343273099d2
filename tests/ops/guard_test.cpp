// Evaluations against operands that do not belong together: sizes that symbols hid from inference.
// The answer must be an error, not a read beyond an operand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/ops/cases.h"

namespace stoker {
namespace {

// A case line whose outputs are allocated as written and whose inference is left out.
Status evaluate_as_written(const std::string& line) {
  STOKER_ASSIGN(const OpCase op_case, parse_case(line));
  STOKER_ASSIGN(const std::vector<Tensor> inputs, make_inputs(op_case));
  std::vector<TensorView> in, out;
  std::vector<Tensor> outputs;
  for (const Tensor& t : inputs) in.push_back(t.defined() ? view_of(t) : TensorView{});
  for (const CaseTensor& t : op_case.outputs) {
    STOKER_ASSIGN(Tensor output, Tensor::allocate(t.dtype, t.shape));
    outputs.push_back(std::move(output));
    out.push_back(view_of(outputs.back()));
  }
  return op_case.op->evaluate({op_case.attributes, in, out, {}});
}

constexpr const char* kMismatched[] = {
    "add a=f32[3] b=f32[4] -> f32[4]",
    "relu x=f32[3] -> f32[5]",
    "where c=bool[2] a=f32[3] b=f32[3] -> f32[3]",
    "equal a=string[2] b=string[3] -> bool[3]",
    "expand x=f32[2] s=i64[1]{3} -> f32[3]",
    "cast x=f32[3] to=f16 -> f16[4]",
    "sum a=f32[2] b=f32[3] -> f32[3]",
    "reshape x=f32[5] s=i64[1]{6} -> f32[6]",
    "concat a=f32[2,3] b=f32[2,4] axis=0 -> f32[4,3]",
    "split x=f32[3] -> f32[2] f32[2]",
    "matmul a=f32[2,3] b=f32[4,5] -> f32[2,5]",
    "matmul_integer a=u8[2,3] b=u8[3,5] -> i32[2,6]",
    "gemm a=f32[2,3] b=f32[3,5] c=f32[6] -> f32[2,5]",
    "conv x=f32[1,3,5,5] w=f32[4,2,3,3] -> f32[1,4,3,3]",
    "conv x=f32[1,3,5,5] w=f32[4,3,3,3] b=f32[2] -> f32[1,4,3,3]",
    "conv_transpose x=f32[1,3,5,5] w=f32[2,3,3,3] -> f32[1,3,7,7]",
    "slice x=f32[4] s=i64[1]{0} e=i64[1]{4} -> f32[3]",
    "slice x=f32[4,4] s=i64[2]{0,0} e=i64[1]{4} -> f32[4,4]",
    "quantize_linear x=f32[2,3] s=f32[2] -> u8[2,3]",
    "dequantize_linear x=u8[2,3] s=f32[2] -> f32[2,3]",
    "batch_normalization x=f32[1,3] a=f32[2] b=f32[2] c=f32[2] d=f32[2] -> f32[1,3]",
    "layer_normalization x=f32[2,3] s=f32[2] -> f32[2,3]",
    "scatter_elements x=f32[4] i=i64[3]{0,1,2} u=f32[2] -> f32[4]",
    "scatter_nd x=f32[4] i=i64[3,1]{0,1,2} u=f32[2] -> f32[4]",
    "top_k x=f32[3] k=i64[1]{4} -> f32[4] i64[4]",
    "tile x=f32[0] r=i64[1]{2} -> f32[4]",
    "resize x=f32[0] r=none s=f32[1]{2} -> f32[4]",
    "pad x=f32[2] p=i64[2]{1,1} v=f32[0] -> f32[4]",
    "cum_sum x=f32[3] a=i64[0] -> f32[3]",
    "reduce_sum x=f32[2,3] a=i64[1]{1} -> f32[3,1]",
    "reduce_mean x=f32[2,3] a=i64[1]{0} keepdims=0 -> f32[2]",
    "reduce_log_sum_exp x=f32[2,3] a=i64[1]{5} -> f32[2,1]",
    "arg_max x=f32[2,3] axis=1 -> i64[1,3]",
    "non_zero x=f32[3]{1,1,1} -> i64[1,2]",
    "bit_cast x=f32[3] to=i32 -> i32[4]",
    "cum_prod x=f32[3] a=i64[0] -> f32[3]",
    "cum_prod x=f32[3] a=i64[]{0} -> f32[4]",
    "einsum a=f32[2,3] b=f32[4,5] equation=\"ij,jk->ik\" -> f32[2,5]",
    "einsum a=f32[2,3] equation=\"ij->ji\" -> f32[2,3]",
    "einsum a=f32[2,3] equation=ii -> f32[]",
    "negative_log_likelihood_loss x=f32[2,3] t=i64[3] -> f32[]",
    "negative_log_likelihood_loss x=f32[2,3] t=i64[2]{0,1} reduction=none -> f32[3]",
    "softmax_cross_entropy_loss x=f32[2,3] t=i64[2] w=f32[2] -> f32[] f32[2,3]",
    "softmax_cross_entropy_loss x=f32[2,3] t=i64[2] -> f32[] f32[2,2]",
    "dft x=f32[1,4,1] -> f32[1,3,2]",
    "dft x=f32[1,4,1] l=none a=i64[]{5} -> f32[1,4,2]",
    "dft x=f32[1,4,3] -> f32[1,4,2]",
    "stft x=f32[1,8,1] s=i64[]{2} w=f32[4] -> f32[1,4,3,2]",
    "stft x=f32[1,8,1] s=i64[]{2} w=f32[9] -> f32[1,1,5,2]",
    "hann_window s=i64[]{4} -> f32[3]",
    "mel_weight_matrix a=i64[]{2} b=i64[]{8} c=i64[]{8000} d=f32[]{0} e=f32[]{900} -> "
    "f32[4,2]",
    "affine_grid t=f32[1,2,3] s=i64[4] -> f32[2,2,2,2]",
    "center_crop_pad x=f32[3] s=i64[1] -> f32[3,1]",
    "col2_im x=f32[1,4,9] i=i64[2]{4,4} b=i64[2]{2,2} -> f32[1,1,4,5]",
    "col2_im x=f32[1,4,8] i=i64[2]{4,4} b=i64[2]{2,2} -> f32[1,1,4,4]",
    "det x=f32[2,3] -> f32[]",
    "det x=f32[4,2,2] -> f32[5]",
    "max_unpool x=f32[1,1,2] i=i64[1,1,3] kernel_shape=[2] -> f32[1,1,3]",
    "max_unpool x=f32[1,1,2] i=i64[1,1,2] kernel_shape=[2] -> f32[1,1,2]",
    "reverse_sequence x=f32[2,3] l=i64[2]{1,1} -> f32[2,3]",
    "reverse_sequence x=f32[2,3] l=i64[3]{1,1,3} -> f32[2,3]",
    "adam r=f32[] t=i64[] a=f32[2] b=f32[2] c=f32[3] d=f32[2] -> f32[2] f32[2] f32[2]",
    "adagrad r=f32[0] t=i64[] a=f32[2] b=f32[2] c=f32[2] -> f32[2] f32[2]",
    "lstm x=f32[2,2,2] w=f32[1,4,2] r=f32[1,4,1] b=none l=none h=f32[1,1,1] -> f32[2,1,2,1]",
};

TEST(Guards, MismatchedOperandsAreErrors) {
  for (const char* line : kMismatched) {
    const Status status = evaluate_as_written(line);
    EXPECT_FALSE(status.is_ok()) << line;
    const bool expected =
        status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kInvalidModel;
    EXPECT_TRUE(expected) << line << ": " << status.message();
  }
}

}  // namespace
}  // namespace stoker
