// What quantize_linear, dequantize_linear and the q-ops share: how scales spread over a tensor, and
// the rounding that ONNX Runtime applies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// Checks x, scale and the optional zero point (inputs 0, 1, 2) against axis and block_size.
Status check_scale(const InferContext& c, const char* op);

// The same for the sizes that only the evaluation knows.
Status check_scale_shapes(const EvalContext& c, const char* op);

// Strides that give every element of x (shape) its scale: one for all, one per index of an axis, or
// one per block of an axis.
class ScaleIndex {
 public:
  ScaleIndex(const Attributes& attributes, const Shape& shape, const TensorView& scale);
  // Offset into the scale (and zero point) of the element at `coordinates`.
  int64_t offset(const int64_t* coordinates) const;
  // The same for a row-major position of x.
  int64_t at(int64_t position) const;

 private:
  Shape shape_, strides_;
  int64_t axis_ = -1, block_ = 1;
};

// Saturating store of round_half_even(value) + zero_point into an integer dtype.
int64_t quantize_to_integer(double rounded, int64_t zero_point, DType dtype);

}  // namespace stoker
