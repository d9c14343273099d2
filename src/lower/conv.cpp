// conv -> the conv family: f32, or 8-bit integers when both operands are dequantized in the group.
// SPDX-License-Identifier: Apache-2.0
#include "lower/anchor.h"

namespace stoker {
namespace {

ConvParams::AutoPad auto_pad_of(const std::string& text) {
  if (text == "SAME_UPPER") return ConvParams::AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return ConvParams::AutoPad::kSameLower;
  if (text == "VALID") return ConvParams::AutoPad::kValid;
  return ConvParams::AutoPad::kExplicit;
}

}  // namespace

Result<LoweredStep> lower_conv(const NodeGroup& group) {
  const Node& conv = *group.anchor;
  const Value *x = conv.inputs[0], *w = conv.inputs[1];
  if (!x->type.ranked || !w->type.ranked) return unsupported("a conv of unknown rank");
  const size_t spatial = x->type.dims.size() - 2;
  if (x->type.dims.size() < 3 || spatial > 3) return unsupported("{} spatial dims", spatial);
  STOKER_ASSIGN(auto xq, quantized_operand(group, x, 1));
  STOKER_ASSIGN(auto wq, quantized_operand(group, w, 0));
  if (xq.has_value() != wq.has_value()) return unsupported("one operand of two is quantized");
  if (!xq && x->type.dtype != DType::kF32)
    return unsupported("a {} conv", dtype_name(x->type.dtype));
  if (xq && xq->scale.count() != 1) return unsupported("activations with a scale per channel");

  ConvParams params;
  const Attributes& attributes = conv.attributes;
  params.strides = attributes.get_ints("strides", std::vector<int64_t>(spatial, 1));
  params.dilations = attributes.get_ints("dilations", std::vector<int64_t>(spatial, 1));
  params.pads = attributes.get_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  params.group = attributes.get_int("group", 1);
  params.auto_pad = auto_pad_of(attributes.get_string("auto_pad", "NOTSET"));
  if (xq) {
    params.x_zero = xq->zero;
    params.w_zero = wq->zero;
  }
  AnchorBias bias;
  if (conv.inputs.size() > 2 && conv.inputs[2]) bias = {conv.inputs[2], 1, 1};
  STOKER_ASSIGN(Epilogue epilogue, build_epilogue(group, xq, wq, bias, 1, 1));
  params.epilogue = std::move(epilogue.program);

  LoweredStep step;
  step.params = std::move(params);
  step.inputs = {operand_of(xq ? xq->source : x), operand_of(wq ? wq->source : w)};
  step.inputs.insert(step.inputs.end(), epilogue.operands.begin(), epilogue.operands.end());
  step.outputs = {group.outputs[0]};
  return step;
}

}  // namespace stoker
