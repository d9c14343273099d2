// resize -> the resize family, where the scales are constants or the sizes decide. Cropping and
// sizes that keep proportions stay with the op's evaluation.
// SPDX-License-Identifier: Apache-2.0
#include "lower/lowered.h"
#include "ops/resample.h"

namespace stoker {
namespace {

constexpr size_t kScales = 2, kSizes = 3;

const Value* operand(const Node& node, size_t index) {
  const Value* value = index < node.inputs.size() ? node.inputs[index] : nullptr;
  // An empty tensor stands for an operand that is left out.
  const bool empty = value && value->type.ranked && product(value->type.dims) == Dim(0);
  return empty ? nullptr : value;
}

// One per dim of x.
Result<std::vector<double>> scales_of(const Node& node, const Value& scales) {
  if (!scales.constant) return unsupported("scales that are no constant");
  const auto rank = static_cast<size_t>(node.inputs[0]->type.rank());
  const std::vector<int64_t> axes = resized_axes(node.attributes, static_cast<int64_t>(rank));
  if (scales.constant->count() != static_cast<int64_t>(axes.size()))
    return unsupported("{} scales for {} axes", scales.constant->count(), axes.size());
  std::vector<double> all(rank, 1.0);
  const LoadDouble load = load_double(scales.constant->dtype());
  for (size_t i = 0; i < axes.size(); ++i)
    all[static_cast<size_t>(axes[i])] = load(scales.constant->data(), static_cast<int64_t>(i));
  return all;
}

}  // namespace

Result<LoweredStep> lower_resize(const Node& node) {
  if (!node.is("resize")) return unsupported("not a resize");
  const ValueType& x = node.inputs[0]->type;
  if (!x.ranked || !node.outputs[0]->type.ranked) return unsupported("an unknown rank");
  ResizeParams params;
  params.rule = resample_rule(node.attributes);
  if (params.rule.coordinates == ResampleRule::Coordinates::kTfCropAndResize)
    return unsupported("cropping");
  const bool nearest = params.rule.mode == ResampleRule::Mode::kNearest;
  if (dtype_bits(x.dtype) < 8 || x.dtype == DType::kString || (!nearest && !is_float(x.dtype)))
    return unsupported("dtype {}", dtype_name(x.dtype));
  if (const Value* scales = operand(node, kScales)) {
    STOKER_ASSIGN(params.scales, scales_of(node, *scales));
  } else if (!operand(node, kSizes) ||
             node.attributes.get_string("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return unsupported("sizes that keep proportions");
  }
  LoweredStep step;
  step.params = std::move(params);
  step.inputs = {operand_of(node.inputs[0])};
  step.outputs = {node.outputs[0]};
  return step;
}

}  // namespace stoker
