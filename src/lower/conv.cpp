// conv -> the conv family: f32, or 8-bit integers when both operands are dequantized in the group.
// conv_transpose -> its transposed form, f32. conv_integer -> integers with its zero points.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lower/anchor.h"

namespace stoker {
namespace {

ConvParams::AutoPad auto_pad_of(const std::string& text) {
  if (text == "SAME_UPPER") return ConvParams::AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return ConvParams::AutoPad::kSameLower;
  if (text == "VALID") return ConvParams::AutoPad::kValid;
  return ConvParams::AutoPad::kExplicit;
}

// Pads of a transposed conv in their canonical form: ends less output padding. What SAME means
// depends on the window only, an output_shape on the input's extents, which must be known.
Result<std::vector<int64_t>> transposed_pads(const Attributes& attributes, const Value* x,
                                             const Value* w, const ConvParams& params) {
  const size_t spatial = params.strides.size();
  const std::vector<int64_t> zeros(spatial, 0);
  const std::vector<int64_t> extra = attributes.get_ints("output_padding", zeros);
  const std::vector<int64_t> asked = attributes.get_ints("output_shape");
  const bool same = params.auto_pad == ConvParams::AutoPad::kSameUpper ||
                    params.auto_pad == ConvParams::AutoPad::kSameLower;
  std::vector<int64_t> pads = attributes.get_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  if (params.auto_pad == ConvParams::AutoPad::kValid) pads.assign(2 * spatial, 0);
  for (size_t d = 0; d < spatial; ++d) {
    if (!same && asked.empty()) {
      pads[spatial + d] -= extra[d];
      continue;
    }
    const auto kernel = w->type.dims[d + 2].constant(), in = x->type.dims[d + 2].constant();
    if (!kernel || (!in && !asked.empty())) return unsupported("an output_shape of open extents");
    const int64_t steps = asked.empty()
                              ? -params.strides[d]
                              : (*in - 1) * params.strides[d] - asked[asked.size() - spatial + d];
    const int64_t total = steps + (*kernel - 1) * params.dilations[d] + 1 + extra[d];
    const int64_t half = std::max<int64_t>(total, 0) / 2;
    pads[d] = params.auto_pad == ConvParams::AutoPad::kSameUpper
                  ? half
                  : std::max<int64_t>(total, 0) - half;
    pads[spatial + d] = total - pads[d] - extra[d];
  }
  return pads;
}

}  // namespace

Result<LoweredStep> lower_conv(const NodeGroup& group) {
  const Node& conv = *group.anchor;
  const Value *x = conv.inputs[0], *w = conv.inputs[1];
  if (!x->type.ranked || !w->type.ranked) return unsupported("a conv of unknown rank");
  const size_t spatial = x->type.dims.size() - 2;
  if (x->type.dims.size() < 3 || spatial > 3) return unsupported("{} spatial dims", spatial);
  ConvParams params;
  STOKER_ASSIGN(auto xq, quantized_operand(group, x, 1));
  STOKER_ASSIGN(auto wq, quantized_operand(group, w, 0));
  if (xq.has_value() != wq.has_value()) return unsupported("one operand of two is quantized");
  IntegerZeros zeros;
  if (conv.is("conv_integer")) {
    STOKER_ASSIGN(zeros, integer_zeros(conv));
    params.x_zero = zeros.first;
    params.w_zero = zeros.second;
  } else if (!xq && x->type.dtype != DType::kF32) {
    return unsupported("a {} conv", dtype_name(x->type.dtype));
  }
  params.transposed = conv.is("conv_transpose");
  if (xq && params.transposed) return unsupported("a quantized transposed conv");
  if (xq && xq->scale.count() != 1) return unsupported("activations with a scale per channel");

  const Attributes& attributes = conv.attributes;
  params.strides = attributes.get_ints("strides", std::vector<int64_t>(spatial, 1));
  params.dilations = attributes.get_ints("dilations", std::vector<int64_t>(spatial, 1));
  params.pads = attributes.get_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  params.group = attributes.get_int("group", 1);
  params.auto_pad = auto_pad_of(attributes.get_string("auto_pad", "NOTSET"));
  if (params.transposed) {
    STOKER_ASSIGN(params.pads, transposed_pads(attributes, x, w, params));
    params.auto_pad = ConvParams::AutoPad::kExplicit;
  }
  if (xq) {
    params.x_zero = xq->zero;
    params.w_zero = wq->zero;
  }
  AnchorBias bias;
  if (!conv.is("conv_integer") && conv.inputs.size() > 2 && conv.inputs[2])
    bias = {conv.inputs[2], 1, 1};
  STOKER_ASSIGN(Epilogue epilogue, build_epilogue(group, xq, wq, bias, 1, 1, zeros.running));
  params.epilogue = std::move(epilogue.program);
  params.x_zero_input = epilogue.zero_input;

  LoweredStep step;
  step.params = std::move(params);
  step.inputs = {operand_of(xq ? xq->source : x), operand_of(wq ? wq->source : w)};
  step.inputs.insert(step.inputs.end(), epilogue.operands.begin(), epilogue.operands.end());
  step.outputs = {group.outputs[0]};
  return step;
}

}  // namespace stoker
