// Names and element counts of operand descs.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/tensor_desc.h"

namespace stoker {

int64_t logical_count(const TensorDesc& desc) {
  int64_t count = 1;
  for (const int64_t extent : desc.dims) count *= extent;
  return count;
}

int64_t stored_count(const TensorDesc& desc) {
  if (desc.layout == Layout::kPlain || desc.rank() < 2) return logical_count(desc);
  int64_t count = 1;
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    const int64_t extent = desc.dims[d];
    count *= d == 1 ? (extent + kLaneCount - 1) / kLaneCount * kLaneCount : extent;
  }
  return count;
}

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::kPlain: return "plain";
    case Layout::kC16: return "c16";
  }
  return "?";
}

const char* packing_name(Packing packing) {
  switch (packing) {
    case Packing::kNone: return "none";
    case Packing::kGemmPanel: return "gemm_panel";
    case Packing::kGemmPanelI8: return "gemm_panel_i8";
    case Packing::kConvC16: return "conv_c16";
    case Packing::kConvStem: return "conv_stem";
    case Packing::kConvC16I8: return "conv_c16_i8";
    case Packing::kConvStemI8: return "conv_stem_i8";
    case Packing::kDepthwiseC16: return "depthwise_c16";
    case Packing::kConvTransposeC16: return "conv_transpose_c16";
    case Packing::kGatePanel: return "gate_panel";
  }
  return "?";
}

}  // namespace stoker
