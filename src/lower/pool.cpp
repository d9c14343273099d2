// Pooling ops -> the pool family.
// SPDX-License-Identifier: Apache-2.0
#include "lower/lowered.h"

namespace stoker {

Result<LoweredStep> lower_pool(const Node& node) {
  const bool global = node.is("global_max_pool") || node.is("global_average_pool");
  if (!global && !node.is("max_pool") && !node.is("average_pool")) return unsupported("not a pool");
  const Value* x = node.inputs[0];
  if (!x->type.ranked || x->type.rank() < 3 || x->type.rank() > 5)
    return unsupported("rank {}", x->type.rank());
  if (node.outputs.size() > 1 && !node.outputs[1]->uses.empty())
    return unsupported("the indices as an output");
  const auto spatial = static_cast<size_t>(x->type.rank()) - 2;
  PoolParams params;
  const bool average = node.is("average_pool") || node.is("global_average_pool");
  params.kind = average ? PoolParams::Kind::kAverage : PoolParams::Kind::kMax;
  params.global = global;
  if (!global) {
    const Attributes& attributes = node.attributes;
    params.kernel = attributes.get_ints("kernel_shape");
    params.strides = attributes.get_ints("strides", std::vector<int64_t>(spatial, 1));
    params.dilations = attributes.get_ints("dilations", std::vector<int64_t>(spatial, 1));
    params.pads = attributes.get_ints("pads", std::vector<int64_t>(2 * spatial, 0));
    params.ceil_mode = attributes.get_int("ceil_mode", 0) != 0;
    params.count_include_pad = attributes.get_int("count_include_pad", 0) != 0;
    const std::string pad = attributes.get_string("auto_pad", "NOTSET");
    if (pad == "SAME_UPPER") params.auto_pad = ConvParams::AutoPad::kSameUpper;
    if (pad == "SAME_LOWER") params.auto_pad = ConvParams::AutoPad::kSameLower;
    if (pad == "VALID") params.auto_pad = ConvParams::AutoPad::kValid;
  }
  LoweredStep step;
  step.params = std::move(params);
  step.inputs = {operand_of(x)};
  step.outputs = {node.outputs[0]};
  return step;
}

}  // namespace stoker
