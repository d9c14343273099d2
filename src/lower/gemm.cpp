// gemm and matmul -> the gemm family: f32, 8-bit integers when both operands are dequantized in the
// group, f32 by 8-bit weights when only the second is. matmul_integer -> integers with its zero
// points.
// SPDX-License-Identifier: Apache-2.0
#include "lower/anchor.h"

namespace stoker {

Result<LoweredStep> lower_gemm(const NodeGroup& group) {
  const Node& node = *group.anchor;
  const Value *a = node.inputs[0], *b = node.inputs[1];
  if (!a->type.ranked || !b->type.ranked) return unsupported("a product of unknown rank");
  if (a->type.rank() < 2 || b->type.rank() < 2) return unsupported("a product with a vector");
  const int64_t rank = node.outputs[0]->type.rank();
  GemmParams params;
  AnchorBias bias;
  double alpha = 1;
  if (node.is("gemm")) {
    params.transpose_a = node.attributes.get_int("transA", 0) != 0;
    params.transpose_b = node.attributes.get_int("transB", 0) != 0;
    alpha = static_cast<float>(node.attributes.get_float("alpha", 1));
    const auto beta = static_cast<float>(node.attributes.get_float("beta", 1));
    // With beta 0 C is not read: it may hold NaN.
    if (node.inputs.size() > 2 && node.inputs[2] && beta != 0) bias = {node.inputs[2], -1, beta};
  }
  const int64_t b_channel_axis = params.transpose_b ? b->type.rank() - 2 : b->type.rank() - 1;
  STOKER_ASSIGN(auto aq, quantized_operand(group, a, -1));
  STOKER_ASSIGN(auto bq, quantized_operand(group, b, b_channel_axis));
  if (aq && !bq) return unsupported("only the first operand is quantized");
  const bool weights_only = bq && !aq;
  if (weights_only && !bq->source->is_constant())
    return unsupported("quantized weights that are computed");
  const bool integer = node.is("matmul_integer");
  IntegerZeros zeros;
  if (integer) {
    STOKER_ASSIGN(zeros, integer_zeros(node));
    params.a_zero = zeros.first;
    params.b_zero = zeros.second;
  } else if (!aq && a->type.dtype != DType::kF32) {
    return unsupported("a {} product", dtype_name(a->type.dtype));
  }
  if (aq && aq->scale.count() != 1) return unsupported("activations with a scale per row");
  if (aq) params.a_zero = aq->zero;
  if (bq) params.b_zero = bq->zero;
  STOKER_ASSIGN(Epilogue epilogue,
                build_epilogue(group, aq, bq, bias, rank - 1, alpha, zeros.running));
  params.epilogue = std::move(epilogue.program);
  params.a_zero_input = epilogue.zero_input;

  LoweredStep step;
  step.params = std::move(params);
  step.inputs = {operand_of(aq ? aq->source : a), operand_of(bq ? bq->source : b)};
  step.inputs.insert(step.inputs.end(), epilogue.operands.begin(), epilogue.operands.end());
  step.outputs = {group.outputs[0]};
  return step;
}

}  // namespace stoker
