// Products of 8-bit integers less their zero points: matmul_integer, conv_integer and the qlinear
// ops. The sums are exact in double, being far below 2^53.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/quantization.h"
#include "ops/window.h"

namespace stoker {

struct IntegerProduct {
  const TensorView &a, &b, &y;
  const TensorView* a_zero = nullptr;  // null: 0
  const TensorView* b_zero = nullptr;
};

// a: input, b: weight; zero point of the weight per output channel or one for all.
Status convolve_integers(const Attributes& attributes, const IntegerProduct& p,
                         std::span<const int64_t> wanted, const StoreSum& store);
// Zero points: scalars, per row of a, per column of b. `store` gets position and column.
Status matmul_integers(const IntegerProduct& p, std::span<const int64_t> wanted,
                       const StoreSum& store);

// Finds the scale or zero point of each element of a tensor: there is one for all, one per index of
// an axis, or a tensor of them that broadcasts.
class Spread {
 public:
  // `axis` is that of a vector; below 0 a vector does not fit.
  static Result<Spread> over(const Shape& shape, int64_t axis, const TensorView& values,
                             const char* what);
  double at(int64_t position) const;  // row-major in `shape`

 private:
  std::vector<double> values_;
  Shape shape_, strides_;  // strides empty: one for all
};

// A quantized product's y = q(sum * a_scale * b_scale / y_scale) from the inputs 1, 4, 6 and 7 of a
// qlinear op. The scales of a and b run along these axes of y unless they are scalars.
class Requantize {
 public:
  static Result<Requantize> of(const EvalContext& c, int64_t a_axis, int64_t b_axis);
  // The number to store; one of an integer dtype is rounded and saturated.
  double operator()(int64_t position, double sum) const;

 private:
  Spread a_, b_;
  double y_scale_ = 1, zero_ = 0;
  DType dtype_ = DType::kInvalid;
  bool in_double_ = false;
};

}  // namespace stoker
