// Sliding windows: the geometry that convolutions and pools share, and the convolution sums.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ops/support.h"

namespace stoker {

struct Window {
  Shape kernel, strides, dilations, pads_begin, pads_end;
  std::string auto_pad;
  bool ceil = false;

  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  int64_t taps() const;
};

// Reads and checks strides, dilations, pads, auto_pad and ceil_mode.
Result<Window> window_of(const Attributes& attributes, const char* op, Shape kernel);
// Number of window positions along axis d of an input of that extent.
Result<Dim> window_output(const Window& window, const char* op, size_t d, const Dim& in);
// The same for pools: a window that reaches beyond the padded input by less than a stride counts,
// and where it is larger still there may be none, as in ONNX Runtime.
Result<Dim> pool_output(const Window& window, const char* op, size_t d, const Dim& in);
// Turns auto_pad into numbers for known extents. Where the stride exceeds the window SAME skips
// elements (negative pads); convolutions and pools of ONNX Runtime round that differently.
enum class WindowKind { kConv, kPool };
void resolve_pads(Window& window, WindowKind kind, const Shape& in, const Shape& out);

// For every tap its offset in the input plane, -1 in the padding, at one output position.
class Taps {
 public:
  Taps(const Window& window, const Shape& in, const Shape& in_strides, const Shape& out);
  void at(int64_t position, int64_t* offsets) const;
  // Taps inside the input or its padding, for averages that count the padding.
  int64_t padded_count(int64_t position) const;
  int64_t count() const {
    return static_cast<int64_t>(relative_.size() / std::max<size_t>(window_.rank(), 1));
  }

 private:
  const Window& window_;
  Shape in_, strides_, out_;
  std::vector<int64_t> relative_;  // [tap][axis], in input coordinates
};

// ---- Convolution.

// Inputs x_index [N,C,...] and w_index [M,C/group,...] of a convolution; sets output 0.
Status infer_conv(InferContext& c, const char* op, size_t x_index, size_t w_index, DType out);

struct ConvShape {
  int64_t batch, groups, in_channels, out_channels;  // channels of one group
  int64_t taps, in_plane, out_plane;
};
ConvShape conv_shape(const TensorView& x, const TensorView& w, const TensorView& y, int64_t groups);
// Also checks that the shapes of x, w and y belong together.
Result<Window> conv_window(const Attributes& attributes, const TensorView& x, const TensorView& w,
                           const TensorView& y);

using TapOffsets = std::function<void(int64_t position, int64_t* offsets)>;
using StoreSum = std::function<void(int64_t position, int64_t channel, double sum)>;
// Sums over channels and taps: x dense [N][C][plane], w [groups * out_channels][in_channels *
// taps]. `store` gets the row-major output position and the output channel.
void convolve(const ConvShape& shape, const double* x, const double* w, const TapOffsets& taps,
              std::span<const int64_t> wanted, const StoreSum& store);

}  // namespace stoker
