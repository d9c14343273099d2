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

// Scales and output zero point (inputs 1, 4, 6, 7) of a qlinear op: scalars, b's scale per channel.
Status check_quantized(const EvalContext& c, int64_t channels, const char* op);

// Scales of a quantized product y = q(sum * a_scale * b_scale / y_scale), b's per output channel or
// one.
class Requantize {
 public:
  Requantize(const TensorView& a_scale, const TensorView& b_scale, const TensorView& y_scale,
             const TensorView& y_zero, DType dtype);
  int64_t operator()(double sum, int64_t channel) const;

 private:
  std::vector<double> multipliers_;
  int64_t zero_;
  DType dtype_;
  bool in_double_;
};

}  // namespace stoker
