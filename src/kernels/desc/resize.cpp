// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/resize.h"

#include <algorithm>
#include <cmath>

#include "stoker/tensor.h"

namespace stoker {

std::vector<ResizeAxis> resize_axes_of(const Desc& desc) {
  const auto& scales = desc.as<ResizeParams>().scales;
  const std::vector<int64_t>&x = desc.inputs[0].dims, &y = desc.outputs[0].dims;
  std::vector<ResizeAxis> axes(x.size());
  for (size_t d = 0; d < x.size(); ++d) {
    ResizeAxis& axis = axes[d];
    axis.in = x[d];
    axis.out = y[d];
    const double in = static_cast<double>(std::max<int64_t>(x[d], 1));
    axis.scale = scales.empty() ? static_cast<double>(y[d]) / in : scales[d];
    axis.length = scales.empty() ? static_cast<double>(y[d]) : scales[d] * in;
  }
  return axes;
}

Status check_resize_static(const Desc& desc) {
  const auto& params = desc.as<ResizeParams>();
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1) {
    return invalid_argument("expected 1 input and 1 output, found {} and {}", desc.inputs.size(),
                            desc.outputs.size());
  }
  const TensorDesc &x = desc.inputs[0], &y = desc.outputs[0];
  if (x.rank() != y.rank() || x.dtype != y.dtype) {
    return invalid_argument("x and y need equal ranks and dtypes, found {} and {}, {} and {}",
                            x.rank(), y.rank(), dtype_name(x.dtype), dtype_name(y.dtype));
  }
  const ResampleRule& rule = params.rule;
  if (rule.mode > ResampleRule::Mode::kCubic || rule.nearest > ResampleRule::Nearest::kSimple ||
      rule.coordinates >= ResampleRule::Coordinates::kTfCropAndResize) {
    return invalid_argument("unknown mode {}, nearest mode {} or coordinates {}",
                            static_cast<int>(rule.mode), static_cast<int>(rule.nearest),
                            static_cast<int>(rule.coordinates));
  }
  if (rule.mode != ResampleRule::Mode::kNearest && !is_float(x.dtype))
    return invalid_argument("interpolation of {}, expected floats", dtype_name(x.dtype));
  if (!params.scales.empty() && params.scales.size() != x.dims.size())
    return invalid_argument("{} scales for rank {}", params.scales.size(), x.rank());
  for (const double scale : params.scales) {
    if (!(scale > 0) || !std::isfinite(scale))
      return invalid_argument("scale {}, expected a positive number", scale);
  }
  return std::isfinite(rule.cubic_a) ? Status::ok()
                                     : invalid_argument("cubic coefficient {}", rule.cubic_a);
}

// Indices are clamped into the input, so that nothing is asked of the extents but something to
// read.
Status check_resize(const Desc& desc) {
  const TensorDesc &x = desc.inputs[0], &y = desc.outputs[0];
  if (logical_count(x) > 0 || logical_count(y) == 0) return Status::ok();
  return invalid_argument("{} resized to {}: there is nothing to read", shape_text(x.dims),
                          shape_text(y.dims));
}

}  // namespace stoker
