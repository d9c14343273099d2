// RandomStream: the random numbers of one evaluation of one node. Philox 4x32-10, the counter-based
// generator of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3"
// (SC'11): numbers depend on seed and key alone, so they repeat whatever ran before or beside. Only
// integer arithmetic, + - * / and sqrt are used, so that every machine draws the same bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/numeric.h"
#include "base/status.h"
#include "ops/op.h"

namespace stoker {

using PhiloxBlock = std::array<uint32_t, 4>;
PhiloxBlock philox_4x32_10(PhiloxBlock counter, std::array<uint32_t, 2> key);

class RandomStream {
 public:
  // With a seed, the numbers depend on it and on key.run; otherwise on the key.
  explicit RandomStream(const RandomKey& key, std::optional<uint64_t> seed = std::nullopt);
  // The stream of an op whose seed is the float or int attribute "seed", where there is one.
  static RandomStream of(const ValueContext& context);

  uint32_t bits32();
  uint64_t bits64();
  double uniform();  // [0, 1), a multiple of 2^-53
  double normal();   // mean 0, variance 1

 private:
  std::array<uint32_t, 2> key_;
  uint64_t run_;
  uint64_t block_number_ = 0;
  PhiloxBlock block_ = {};
  size_t used_ = 4;  // words of block_ given out
  std::optional<double> spare_normal_;
};

// A tensor of `shape` whose elements are draw(stream), in row-major order.
template <class Draw>
Result<Tensor> draw_tensor(const ValueContext& context, DType dtype, const Shape& shape,
                           Draw&& draw) {
  const StoreDouble store = store_double(dtype);
  if (!store) return invalid_argument("no random numbers of {}", dtype_name(dtype));
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, shape));
  RandomStream stream = RandomStream::of(context);
  for (int64_t i = 0; i < tensor.count(); ++i) store(tensor.data(), i, draw(stream));
  return tensor;
}

// Natural logarithm of a positive finite number, within 2^-50 of it (relative, and absolute near
// 1); the same bits on every machine, which libm does not promise.
double portable_log(double x);
double portable_exp(double x);  // likewise; 0 and infinity beyond the range

}  // namespace stoker
