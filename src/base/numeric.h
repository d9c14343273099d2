// Conversions of single elements of any dtype; the scalar ground of the reference evaluations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "stoker/dtype.h"

namespace stoker {

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);  // round to nearest even
inline float bf16_to_f32(uint16_t bits) { return __builtin_bit_cast(float, uint32_t{bits} << 16); }
uint16_t f32_to_bf16(float value);  // round to nearest even, NaN stays NaN

// Element `index` of packed memory of a real dtype (floats, integers, bool). Integers of 64 bits
// lose precision in the double forms: use the int64 ones for integers.
using LoadDouble = double (*)(const void* data, int64_t index);
using StoreDouble = void (*)(void* data, int64_t index, double value);
using LoadInt = int64_t (*)(const void* data, int64_t index);
using StoreInt = void (*)(void* data, int64_t index, int64_t value);

// Never null for real dtypes; null for strings and complex numbers. Storing rounds to nearest even
// for floats, truncates towards zero and saturates for integers (NaN stores 0). The int forms of a
// float dtype convert; u64 travels as its bit pattern.
LoadDouble load_double(DType dtype);
StoreDouble store_double(DType dtype);
LoadInt load_int(DType dtype);
StoreInt store_int(DType dtype);
// As store_double, but the 8-bit floats do not saturate: too large a value becomes infinity or NaN.
StoreDouble store_double_unsaturated(DType dtype);

// Value range of an integer dtype, for saturation. Not for u64's upper bound (INT64_MAX is given).
int64_t integer_min(DType dtype);
int64_t integer_max(DType dtype);

}  // namespace stoker
