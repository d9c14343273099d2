// Weights of 2, 4 or 8 bits that domain com.microsoft stores in bytes, as tensors of the real
// width.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/composer.h"

namespace stoker {

// u2, u4 or u8; an error for other widths.
Result<DType> packed_dtype(int64_t bits);

// The tensor under another shape: a constant at once, so that what follows still finds a constant.
Value* reshape_weight(Composer& c, Value* value, const Shape& shape, const char* role);

// How the elements of a byte are ordered.
enum class BitOrder { kLowFirst, kHighFirst };

// The last axis of `bytes` (u8) taken apart into elements of `bits`, of which the first `count` of
// each row are kept. Elements are u8, each with one value.
Value* unpack_bits(Composer& c, Value* bytes, int64_t bits, int64_t count,
                   BitOrder order = BitOrder::kLowFirst);

// The same for tensors that must have one dtype: constants become tensors of the narrow dtype,
// which need no more memory than the bytes; if one is computed, all are taken apart as above.
// A row is `counts[i]` elements of values[i], whose other axes stay; nulls stay null.
void unpack_together(Composer& c, int64_t bits, std::vector<Value*>& values,
                     const std::vector<int64_t>& counts);

// (q - zero) * scale in blocks of `block` elements along `axis`. Without zero points, `zero` is the
// value of all of them; 0 needs none.
struct Blocks {
  Value *q, *scale, *zeros;
  int64_t axis, block;
  double zero = 0;
};
Value* dequantize_blocks(Composer& c, const Blocks& blocks);

}  // namespace stoker
