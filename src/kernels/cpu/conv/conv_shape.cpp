// Extents, checks and layouts that the convolution tactics share.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv/conv_shape.h"

namespace stoker::cpu {

namespace {

Result<ConvShape> any_shape(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  const TensorDesc &x = desc.inputs[0], &w = desc.inputs[1], &y = desc.outputs[0];
  const int rank = x.rank() - 2;
  if (rank < 1 || rank > 3 || w.rank() != x.rank() || y.rank() != x.rank()) {
    return unsupported("input of rank {}, expected 3 to 5", x.rank());
  }
  const auto spatial = [&](const TensorDesc& t) {
    return std::vector<int64_t>(t.dims.begin() + 2, t.dims.end());
  };
  std::vector<int64_t> strides = params.strides, dilations = params.dilations;
  strides.resize(static_cast<size_t>(rank), 1);
  dilations.resize(static_cast<size_t>(rank), 1);
  const auto pads = resolve_pads(Family::kConv, params.auto_pad, params.pads, spatial(x),
                                 spatial(w), strides, dilations);
  ConvShape s;
  s.spatial_rank = rank;
  s.n = x.dims[0];
  s.c = x.dims[1];
  s.o = y.dims[1];
  s.group = params.group;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    const size_t d = i + 3 - static_cast<size_t>(rank);
    s.in[d] = x.dims[i + 2];
    s.out[d] = y.dims[i + 2];
    s.kernel[d] = w.dims[i + 2];
    s.stride[d] = strides[i];
    s.dilation[d] = dilations[i];
    s.pad_begin[d] = pads[i];
    s.pad_end[d] = pads[i + static_cast<size_t>(rank)];
  }
  return s;
}

}  // namespace

Result<ConvShape> conv_shape(const Desc& desc) {
  if (desc.as<ConvParams>().transposed) return unsupported("a transposed convolution");
  STOKER_ASSIGN(const ConvShape s, any_shape(desc));
  for (size_t d = 0; d < 3; ++d) {
    if (s.pad_begin[d] < 0 || s.pad_end[d] < 0) return unsupported("negative pads");
  }
  return s;
}

Result<ConvShape> transposed_shape(const Desc& desc) {
  if (!desc.as<ConvParams>().transposed) return unsupported("not a transposed convolution");
  return any_shape(desc);
}

Status check_blocked_conv(const Desc& desc, const ConvShape& shape, Packing packed,
                          bool blocked_input) {
  const TensorDesc &x = desc.inputs[0], &w = desc.inputs[1];
  if (shape.spatial_rank > 2) return unsupported("{} spatial dims, at most 2", shape.spatial_rank);
  if (!w.constant) return unsupported("the weight is not a constant");
  if (w.packing != Packing::kNone && w.packing != packed) {
    return unsupported("the weight is packed as {}, expected {}", packing_name(w.packing),
                       packing_name(packed));
  }
  if ((x.layout == Layout::kC16) != blocked_input) {
    return unsupported("x is {}, expected {}", layout_name(x.layout),
                       layout_name(blocked_input ? Layout::kC16 : Layout::kPlain));
  }
  for (const TensorDesc& y : desc.outputs) {
    if (y.layout != Layout::kC16)
      return unsupported("the output is {}, expected {}", layout_name(y.layout),
                         layout_name(Layout::kC16));
  }
  return Status::ok();
}

std::vector<std::vector<Layout>> blocked_layouts(const Desc& desc, Layout x) {
  std::vector<Layout> layouts{x, Layout::kPlain};
  const std::vector<int64_t>& y = desc.outputs[0].dims;
  for (size_t i = 2; i < desc.inputs.size(); ++i) {
    layouts.push_back(desc.inputs[i].dims == y && !desc.inputs[i].constant ? Layout::kC16
                                                                           : Layout::kPlain);
  }
  for (size_t i = 0; i < desc.outputs.size(); ++i) layouts.push_back(Layout::kC16);
  return {layouts};
}

}  // namespace stoker::cpu
