// TensorDesc: one operand of a desc. Kernels see descs and pointers, never IR.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "stoker/dtype.h"

namespace stoker {

// How the elements of an edge lie in memory. `dims` of a desc are always the logical ones.
//   kPlain  row-major
//   kC16    [N, C, spatial...] stored as [N, ceil(C/16), spatial..., 16]; lanes past C hold zeros
enum class Layout : uint8_t { kPlain, kC16 };

// How a constant operand is packed for the kernels. ISA levels share packings, so that an engine
// moves between levels without touching its weights. Panels are 16 columns wide; the last one is
// padded with zeros.
//   kNone         plain row-major
//   kGemmPanel    B of a gemm, f32 or 8 bits: [batch][ceil(N/16)][K][16]
//   kGemmPanelI8  B of a gemm, 8 bits: [batch][ceil(N/16)][ceil(K/4)][16][4], i32 sums [N16*16]
//   kConvC16      conv weight (group 1), f32: [ceil(O/16)][ceil(I/16)][kh][kw][16 i][16 o]
//   kConvStem     of few input channels, f32: [ceil(O/16)][I][kh][kw][16 o]
//   kConvC16I8    i8: [ceil(O/16)][ceil(I/16)][kh][kw][4][16 o][4 i], then i32 sums per o
//   kConvStemI8   i8: [ceil(O/16)][kh][kw][ceil(I/4)][16 o][4 i], then i32 sums per o
//   kDepthwiseC16 of any dtype: [ceil(C/16)][kh][kw][16]
//   kConvTransposeC16  transposed, f32: [ceil(O/16)][kh][kw][ceil(I/16)][16 i][16 o]
//   kGatePanel    W or R of a recurrent layer, f32 or 8 bits: [D][gates * ceil(H/16)][K][16], the
//   panels in
//                 the order of gate_panel() (desc/recurrent.h)
enum class Packing : uint8_t {
  kNone,
  kGemmPanel,
  kGemmPanelI8,
  kConvC16,
  kConvStem,
  kConvC16I8,
  kConvStemI8,
  kDepthwiseC16,
  kConvTransposeC16,
  kGatePanel,
};

struct TensorDesc {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;  // logical extents at the bound shape
  Layout layout = Layout::kPlain;
  Packing packing = Packing::kNone;
  bool constant = false;  // a weight: known at load, the same for every run

  bool present() const { return dtype != DType::kInvalid; }
  int rank() const { return static_cast<int>(dims.size()); }
};

inline constexpr int64_t kLaneCount = 16;  // channels of a kC16 group, columns of a panel

// Logical elements; the caller has checked the shape.
int64_t logical_count(const TensorDesc& desc);
// Elements in memory, padding included (of kC16), packing excluded.
int64_t stored_count(const TensorDesc& desc);
const char* layout_name(Layout layout);
const char* packing_name(Packing packing);

}  // namespace stoker
