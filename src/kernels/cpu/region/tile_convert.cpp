// Loads, stores and casts of tiles: memory of any dtype to the register class and back.
// Casts of floats to integers truncate and saturate (NaN gives 0), casts between integers wrap.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "base/numeric.h"
#include "kernels/cpu/copy/transpose.h"
#include "kernels/cpu/region/tile_ops.h"
#include "kernels/cpu/region/vector_math.h"

namespace stoker::cpu {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

template <class T>
struct ClassOf {
  using type = int32_t;
};
template <>
struct ClassOf<double> {
  using type = double;
};
template <>
struct ClassOf<float> {
  using type = float;
};
template <>
struct ClassOf<Half> {
  using type = float;
};
template <>
struct ClassOf<BFloat> {
  using type = float;
};
template <>
struct ClassOf<int64_t> {
  using type = int64_t;
};
template <>
struct ClassOf<uint64_t> {
  using type = int64_t;
};
template <>
struct ClassOf<uint32_t> {
  using type = int64_t;
};

template <class T>
inline typename ClassOf<T>::type widen(T x) {
  if constexpr (std::is_same_v<T, Half>) {
#if defined(__F16C__)
    return _cvtsh_ss(x.bits);
#else
    return f16_to_f32(x.bits);
#endif
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return float_of(uint32_t{x.bits} << 16);
  } else {
    return static_cast<typename ClassOf<T>::type>(x);
  }
}

inline uint16_t round_bf16(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(x != x ? (bits >> 16 | 0x40u) : rounded);
}
inline uint16_t round_f16(float x) {
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
#else
  return f32_to_f16(x);
#endif
}

template <class T>
inline T narrow(typename ClassOf<T>::type x) {
  if constexpr (std::is_same_v<T, Half>)
    return {round_f16(x)};
  else if constexpr (std::is_same_v<T, BFloat>)
    return {round_bf16(x)};
  else
    return static_cast<T>(x);
}

#if defined(__F16C__)
// The compiler does not vectorise the scalar conversion intrinsics.
inline int64_t load_half_run(const Half* a, int64_t count, float* d) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(d + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i))));
  }
  return i;
}
inline int64_t store_half_run(const float* a, int64_t count, Half* d) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#else
inline int64_t load_half_run(const Half*, int64_t, float*) { return 0; }
inline int64_t store_half_run(const float*, int64_t, Half*) { return 0; }
#endif

template <class T>
void load(TileShape shape, const void* src, int64_t s1, int64_t s0, void* dst) {
  using C = typename ClassOf<T>::type;
  C* d = static_cast<C*>(dst);
  if constexpr (std::is_same_v<T, C>) {
    if (s1 == 1 && s0 > 1) {
      return transpose_block<T>(shape.n1, shape.n0, static_cast<const T*>(src), s0, d, shape.n0);
    }
  }
  for (int64_t i1 = 0; i1 < shape.n1; ++i1, d += shape.n0) {
    const T* a = static_cast<const T*>(src) + i1 * s1;
    if (s0 == 1) {
      int64_t i = 0;
      if constexpr (std::is_same_v<T, Half>) i = load_half_run(a, shape.n0, d);
#pragma GCC ivdep
      for (; i < shape.n0; ++i) d[i] = widen<T>(a[i]);
    } else if (s0 == 0) {
      const C value = shape.n0 > 0 ? widen<T>(*a) : C{};
      for (int64_t i = 0; i < shape.n0; ++i) d[i] = value;
    } else {
      for (int64_t i = 0; i < shape.n0; ++i) d[i] = widen<T>(a[i * s0]);
    }
  }
}

template <class T>
void store(TileShape shape, TileArg value, void* dst, int64_t s1, int64_t s0) {
  using C = typename ClassOf<T>::type;
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    const C* a = static_cast<const C*>(value.data) + i1 * value.s1;
    T* d = static_cast<T*>(dst) + i1 * s1;
    if (s0 == 1 && value.s0 == 1) {
      int64_t i = 0;
      if constexpr (std::is_same_v<T, Half>) i = store_half_run(a, shape.n0, d);
#pragma GCC ivdep
      for (; i < shape.n0; ++i) d[i] = narrow<T>(a[i]);
    } else {
      for (int64_t i = 0; i < shape.n0; ++i) d[i * s0] = narrow<T>(a[i * value.s0]);
    }
  }
}

// ---- Casts.

template <class R, class T, class F>
void cast_loop(TileShape shape, TileArg arg, void* dst, int64_t ds1, F f) {
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    const T* a = static_cast<const T*>(arg.data) + i1 * arg.s1;
    R* d = static_cast<R*>(dst) + i1 * ds1;
#pragma GCC ivdep
    for (int64_t i = 0; i < shape.n0; ++i) d[i] = f(a[i]);
  }
}

// Saturating conversion to D, held as C.
template <class D, class C, class T>
inline C saturate(T x) {
  constexpr T low = static_cast<T>(std::numeric_limits<D>::min());
  // One step above the largest value, exactly representable in any float.
  constexpr T above = static_cast<T>(std::numeric_limits<D>::max() / 2 + 1) * 2;
  const bool inside = (x >= low) & (x < above);  // false for NaN
  const T safe = inside ? x : T(0);
  C result;
  if constexpr (sizeof(D) == 8 && std::is_unsigned_v<D>) {
    result = static_cast<C>(static_cast<uint64_t>(safe < 0 ? T(0) : safe));
  } else {
    result = static_cast<C>(safe);
  }
  result = x >= above ? static_cast<C>(std::numeric_limits<D>::max()) : result;
  return x < low ? static_cast<C>(std::numeric_limits<D>::min()) : result;
}

template <class T, class D>
void float_to_int(TileShape shape, TileArg a, void* dst, int64_t ds1) {
  using C = typename ClassOf<D>::type;
  cast_loop<C, T>(shape, a, dst, ds1, [](T x) -> C { return saturate<D, C, T>(x); });
}

// Wraps: through the dtype and back into its class.
template <class T, class D>
void int_to_int(TileShape shape, TileArg a, void* dst, int64_t ds1) {
  using C = typename ClassOf<D>::type;
  cast_loop<C, T>(shape, a, dst, ds1, [](T x) -> C { return static_cast<C>(static_cast<D>(x)); });
}

template <class T, class C>
void to_bool(TileShape shape, TileArg a, void* dst, int64_t ds1) {
  cast_loop<C, T>(shape, a, dst, ds1, [](T x) -> C { return x != 0; });
}

template <class T, class D>  // D: double, float, Half or BFloat
void to_float(TileShape shape, TileArg a, void* dst, int64_t ds1) {
  using C = typename ClassOf<D>::type;
  if constexpr (std::is_same_v<D, Half> || std::is_same_v<D, BFloat>) {
    cast_loop<C, T>(shape, a, dst, ds1,
                    [](T x) -> C { return widen<D>(narrow<D>(static_cast<float>(x))); });
  } else {
    cast_loop<C, T>(shape, a, dst, ds1, [](T x) -> C { return static_cast<C>(x); });
  }
}

template <class T>
UnaryTile cast_to_int(DType to) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (to) {
      case DType::kI64: return float_to_int<T, int64_t>;
      case DType::kI32: return float_to_int<T, int32_t>;
      case DType::kI16: return float_to_int<T, int16_t>;
      case DType::kI8: return float_to_int<T, int8_t>;
      case DType::kU64: return float_to_int<T, uint64_t>;
      case DType::kU32: return float_to_int<T, uint32_t>;
      case DType::kU16: return float_to_int<T, uint16_t>;
      case DType::kU8: return float_to_int<T, uint8_t>;
      default: return nullptr;
    }
  } else {
    switch (to) {
      case DType::kI64:
      case DType::kU64: return int_to_int<T, int64_t>;
      case DType::kI32: return int_to_int<T, int32_t>;
      case DType::kI16: return int_to_int<T, int16_t>;
      case DType::kI8: return int_to_int<T, int8_t>;
      case DType::kU32: return int_to_int<T, uint32_t>;
      case DType::kU16: return int_to_int<T, uint16_t>;
      case DType::kU8: return int_to_int<T, uint8_t>;
      default: return nullptr;
    }
  }
}

template <class T>
UnaryTile cast_from(DType to) {
  switch (to) {
    case DType::kF64: return to_float<T, double>;
    case DType::kF32: return to_float<T, float>;
    case DType::kF16: return to_float<T, Half>;
    case DType::kBF16: return to_float<T, BFloat>;
    case DType::kBool: return to_bool<T, int32_t>;
    default: return cast_to_int<T>(to);
  }
}

template <class C, class D>
void renormalize(void* data, int64_t count) {
  C* d = static_cast<C*>(data);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<C, float>)
      d[i] = widen<D>(narrow<D>(d[i]));
    else
      d[i] = static_cast<C>(static_cast<D>(d[i]));
  }
}

template <class C>
void iota(TileShape shape, int64_t start, int64_t s1, int64_t s0, void* dst) {
  C* d = static_cast<C*>(dst);
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    for (int64_t i = 0; i < shape.n0; ++i) *d++ = static_cast<C>(start + i1 * s1 + i * s0);
  }
}

}  // namespace

LoadTile load_tile(DType dtype) {
  switch (dtype) {
    case DType::kF64: return load<double>;
    case DType::kF32: return load<float>;
    case DType::kF16: return load<Half>;
    case DType::kBF16: return load<BFloat>;
    case DType::kI64:
    case DType::kU64: return load<int64_t>;
    case DType::kI32: return load<int32_t>;
    case DType::kI16: return load<int16_t>;
    case DType::kI8: return load<int8_t>;
    case DType::kU32: return load<uint32_t>;
    case DType::kU16: return load<uint16_t>;
    case DType::kU8:
    case DType::kBool: return load<uint8_t>;
    default: return nullptr;
  }
}

StoreTile store_tile(DType dtype) {
  switch (dtype) {
    case DType::kF64: return store<double>;
    case DType::kF32: return store<float>;
    case DType::kF16: return store<Half>;
    case DType::kBF16: return store<BFloat>;
    case DType::kI64:
    case DType::kU64: return store<int64_t>;
    case DType::kI32: return store<int32_t>;
    case DType::kI16: return store<int16_t>;
    case DType::kI8: return store<int8_t>;
    case DType::kU32: return store<uint32_t>;
    case DType::kU16: return store<uint16_t>;
    case DType::kU8:
    case DType::kBool: return store<uint8_t>;
    default: return nullptr;
  }
}

UnaryTile cast_tile(DType from, DType to) {
  switch (tile_class(from)) {
    case TileClass::kF32: return cast_from<float>(to);
    case TileClass::kF64: return cast_from<double>(to);
    case TileClass::kI32: return cast_from<int32_t>(to);
    case TileClass::kI64:
      return from == DType::kU64 ? cast_from<uint64_t>(to) : cast_from<int64_t>(to);
  }
  return nullptr;
}

void normalize_tile(DType dtype, void* data, int64_t count) {
  switch (dtype) {
    case DType::kF16: return renormalize<float, Half>(data, count);
    case DType::kBF16: return renormalize<float, BFloat>(data, count);
    case DType::kI16: return renormalize<int32_t, int16_t>(data, count);
    case DType::kI8: return renormalize<int32_t, int8_t>(data, count);
    case DType::kU16: return renormalize<int32_t, uint16_t>(data, count);
    case DType::kU8: return renormalize<int32_t, uint8_t>(data, count);
    case DType::kU32: return renormalize<int64_t, uint32_t>(data, count);
    default: return;
  }
}

void iota_tile(DType dtype, TileShape shape, int64_t start, int64_t s1, int64_t s0, void* dst) {
  switch (tile_class(dtype)) {
    case TileClass::kF32: iota<float>(shape, start, s1, s0, dst); break;
    case TileClass::kF64: iota<double>(shape, start, s1, s0, dst); break;
    case TileClass::kI32: iota<int32_t>(shape, start, s1, s0, dst); break;
    case TileClass::kI64: iota<int64_t>(shape, start, s1, s0, dst); break;
  }
  if (needs_normalize(dtype)) normalize_tile(dtype, dst, shape.n1 * shape.n0);
}

void constant_tile(DType dtype, double value, void* dst) {
  std::memset(dst, 0, 8);
  switch (tile_class(dtype)) {
    case TileClass::kF32: {
      const float v = static_cast<float>(value);
      std::memcpy(dst, &v, sizeof v);
      break;
    }
    case TileClass::kF64: std::memcpy(dst, &value, sizeof value); break;
    case TileClass::kI32: {
      const int32_t v = static_cast<int32_t>(static_cast<int64_t>(value));
      std::memcpy(dst, &v, sizeof v);
      break;
    }
    case TileClass::kI64: {
      const int64_t v = static_cast<int64_t>(value);
      std::memcpy(dst, &v, sizeof v);
      break;
    }
  }
  if (needs_normalize(dtype)) normalize_tile(dtype, dst, 1);
}

}  // namespace stoker::cpu
