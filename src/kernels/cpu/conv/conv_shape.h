// Extents of a convolution at its bound shape, 1 to 3 spatial dims brought to depth, height, width.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker::cpu {

struct ConvShape {
  using Spatial = std::array<int64_t, 3>;  // depth, height, width; missing ones are 1 (pads 0)

  int64_t n = 0, c = 0, o = 0, group = 1;
  int spatial_rank = 2;
  Spatial in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Spatial pad_begin{0, 0, 0}, pad_end{0, 0, 0};

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  bool padded() const {
    for (int d = 0; d < 3; ++d) {
      if (pad_begin[static_cast<size_t>(d)] || pad_end[static_cast<size_t>(d)]) return true;
    }
    return false;
  }
};

// Refuses ranks outside of 3..5, negative pads, parameters that do not fit the operands and
// transposed convolutions; transposed_shape takes those only, and their ends of pads may be
// negative.
Result<ConvShape> conv_shape(const Desc& desc);
Result<ConvShape> transposed_shape(const Desc& desc);

// What all convolutions of blocked channels check: dtypes, layouts, rank; `packed` is the weight's
// form.
Status check_blocked_conv(const Desc& desc, const ConvShape& shape, Packing packed,
                          bool blocked_input);

// Layouts of a blocked convolution: x as given, residual tensors and outputs kC16, vectors plain.
std::vector<std::vector<Layout>> blocked_layouts(const Desc& desc, Layout x);

}  // namespace stoker::cpu
