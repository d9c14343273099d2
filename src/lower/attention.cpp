// attention -> the attention family, without a cache, lengths, sinks or outputs beside the result:
// those stay with the op's evaluation.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lower/lowered.h"

namespace stoker {

namespace {

// Operands as the op orders them; see ops/attention.h.
constexpr size_t kMaskOperand = 3;

// The attribute, or 1 / sqrt(head) where the width of a head is a number.
Result<double> scale_of(const Node& node, bool packed, int64_t q_heads) {
  if (node.attributes.has("scale")) return node.attributes.get_float("scale", 1);
  const Dim& last = node.inputs[0]->type.dims.back();
  if (!last.is_const()) return unsupported("a head of unknown width {}", last.text());
  const int64_t head = packed ? last.value() / q_heads : last.value();
  if (head < 1) return unsupported("a head of width {}", head);
  return 1.0 / std::sqrt(static_cast<double>(head));
}

}  // namespace

Result<LoweredStep> lower_attention(const Node& node) {
  if (!node.is("attention")) return unsupported("not an attention");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value* operand = node.inputs[i];
    if (operand && i > kMaskOperand) return unsupported("a cache, lengths or sinks");
    if (operand && !operand->type.ranked) return unsupported("an operand of unknown rank");
    if (operand && i < kMaskOperand && operand->type.dtype != node.inputs[0]->type.dtype)
      return unsupported("operands of several dtypes");
  }
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]->uses.empty()) return unsupported("more than one output");
  }
  const Attributes& attributes = node.attributes;
  AttentionParams params;
  params.packed = node.inputs[0]->type.rank() == 3;
  params.causal = attributes.get_int("is_causal", 0) != 0;
  params.window = params.causal ? std::max<int64_t>(0, attributes.get_int("window", 0)) : 0;
  params.softcap = attributes.get_float("softcap", 0);
  params.mask_repeats = attributes.get_int("mask_repeats", 0) != 0;
  params.masked_score = attributes.get_float("masked_score", params.masked_score);
  params.nan_rows = attributes.get_int("nan_rows", 0) != 0;
  if (params.packed) {
    params.q_heads = attributes.get_int("q_num_heads", 0);
    params.kv_heads = attributes.get_int("kv_num_heads", 0);
  }
  STOKER_ASSIGN(params.scale, scale_of(node, params.packed, params.q_heads));
  if (!std::isfinite(params.scale) || !std::isfinite(params.softcap))
    return unsupported("a scale of {} and a softcap of {}", params.scale, params.softcap);
  LoweredStep step;
  step.params = params;
  for (size_t i = 0; i < kMaskOperand; ++i) step.inputs.push_back(operand_of(node.inputs[i]));
  if (node.inputs.size() > kMaskOperand && node.inputs[kMaskOperand])
    step.inputs.push_back(operand_of(node.inputs[kMaskOperand]));
  step.outputs = {node.outputs[0]};
  return step;
}

}  // namespace stoker
