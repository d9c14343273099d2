// Functions of one element on tiles. Plain loops that the compiler vectorises; exp and its kin by
// hand where the level has 512-bit vectors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cpu/region/tile_loops.h"
#include "kernels/cpu/region/vector_math.h"

namespace stoker::cpu {
namespace {

#define STOKER_UNARY(name, expression)                                                         \
  template <class T>                                                                           \
  void name##_tile(TileShape shape, TileArg a, void* dst, int64_t ds1) {                       \
    unary_loop<T, T>(shape, a, dst, ds1, [](T x) -> T { return static_cast<T>(expression); }); \
  }

template <class T>
inline T sign_of(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>((x > 0) - (x < 0));
  else
    return x > 0 ? T(1) : (x < 0 ? T(-1) : x);  // NaN and zeros stay
}
template <class T>
inline T exp_of(T x) {
  if constexpr (std::is_same_v<T, float>)
    return exp_f32(x);
  else
    return std::exp(x);
}
template <class T>
inline T log_of(T x) {
  if constexpr (std::is_same_v<T, float>)
    return log_f32(x);
  else
    return std::log(x);
}
template <class T>
inline T tanh_of(T x) {
  if constexpr (std::is_same_v<T, float>)
    return tanh_f32(x);
  else
    return std::tanh(x);
}
template <class T>
inline T erf_of(T x) {
  if constexpr (std::is_same_v<T, float>)
    return erf_f32(x);
  else
    return std::erf(x);
}
template <class T>
inline T sigmoid_of(T x) {
  if constexpr (std::is_same_v<T, float>)
    return sigmoid_f32(x);
  else
    return 1 / (1 + std::exp(-x));
}
inline float floor_of(float x) { return __builtin_floorf(x); }
inline double floor_of(double x) { return __builtin_floor(x); }
inline float ceil_of(float x) { return __builtin_ceilf(x); }
inline double ceil_of(double x) { return __builtin_ceil(x); }
inline float rint_of(float x) { return __builtin_rintf(x); }
inline double rint_of(double x) { return __builtin_rint(x); }
inline float sqrt_of(float x) { return __builtin_sqrtf(x); }
inline double sqrt_of(double x) { return __builtin_sqrt(x); }

STOKER_UNARY(neg, negate(x))
STOKER_UNARY(abs,
             x < 0 ? negate(x) : (std::is_integral_v<T> ? x : x + T(0)))  // + 0 turns -0 into 0
STOKER_UNARY(sign, sign_of(x))
STOKER_UNARY(log, log_of(x))
STOKER_UNARY(sqrt, sqrt_of(x))
STOKER_UNARY(reciprocal, T(1) / x)
STOKER_UNARY(floor, floor_of(x))
STOKER_UNARY(ceil, ceil_of(x))
STOKER_UNARY(round_even, rint_of(x))
STOKER_UNARY(sin, std::sin(x))
STOKER_UNARY(cos, std::cos(x))
STOKER_UNARY(bit_not, ~x)
STOKER_UNARY(bool_not, x == 0)

#if defined(__AVX512F__)
// Whole vectors, the tail under a mask: every element gets the same arithmetic wherever it lies.
#define STOKER_MATH(name)                                                                     \
  template <class T>                                                                          \
  void name##_tile(TileShape shape, TileArg arg, void* dst, int64_t ds1) {                    \
    if constexpr (std::is_same_v<T, float>) {                                                 \
      for (int64_t i1 = 0; i1 < shape.n1; ++i1) {                                             \
        const float* a = static_cast<const float*>(arg.data) + i1 * arg.s1;                   \
        float* d = static_cast<float*>(dst) + i1 * ds1;                                       \
        int64_t i = 0;                                                                        \
        for (; i + 16 <= shape.n0; i += 16) {                                                 \
          _mm512_storeu_ps(d + i, Math16::name(_mm512_loadu_ps(a + i)));                      \
        }                                                                                     \
        if (i == shape.n0) continue;                                                          \
        const __mmask16 tail = static_cast<__mmask16>((1u << (shape.n0 - i)) - 1);            \
        _mm512_mask_storeu_ps(d + i, tail, Math16::name(_mm512_maskz_loadu_ps(tail, a + i))); \
      }                                                                                       \
    } else {                                                                                  \
      unary_loop<T, T>(shape, arg, dst, ds1, [](T x) -> T { return name##_of(x); });          \
    }                                                                                         \
  }
#else
#define STOKER_MATH(name) STOKER_UNARY(name, name##_of(x))
#endif
STOKER_MATH(exp)
STOKER_MATH(tanh)
STOKER_MATH(erf)
STOKER_MATH(sigmoid)
#undef STOKER_MATH
#undef STOKER_UNARY

template <class T>
UnaryTile unary_of(RegionOp op, DType dtype) {
  switch (op) {
    case RegionOp::kNeg: return neg_tile<T>;
    case RegionOp::kAbs: return abs_tile<T>;
    case RegionOp::kSign: return sign_tile<T>;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == RegionOp::kNot) return dtype == DType::kBool ? bool_not_tile<T> : bit_not_tile<T>;
    return nullptr;
  } else {
    switch (op) {
      case RegionOp::kExp: return exp_tile<T>;
      case RegionOp::kLog: return log_tile<T>;
      case RegionOp::kSqrt: return sqrt_tile<T>;
      case RegionOp::kReciprocal: return reciprocal_tile<T>;
      case RegionOp::kTanh: return tanh_tile<T>;
      case RegionOp::kErf: return erf_tile<T>;
      case RegionOp::kSigmoid: return sigmoid_tile<T>;
      case RegionOp::kFloor: return floor_tile<T>;
      case RegionOp::kCeil: return ceil_tile<T>;
      case RegionOp::kRoundEven: return round_even_tile<T>;
      case RegionOp::kSin: return sin_tile<T>;
      case RegionOp::kCos: return cos_tile<T>;
      default: return nullptr;
    }
  }
}

}  // namespace

UnaryTile unary_tile(RegionOp op, DType dtype) {
  // Unsigned 64-bit values are bit patterns; these two depend on the sign.
  if (dtype == DType::kU64 && op == RegionOp::kAbs) return cast_tile(DType::kU64, DType::kU64);
  if (dtype == DType::kU64 && op == RegionOp::kSign) {
    return [](TileShape shape, TileArg a, void* dst, int64_t ds1) {
      unary_loop<int64_t, int64_t>(shape, a, dst, ds1, [](int64_t x) -> int64_t { return x != 0; });
    };
  }
  switch (tile_class(dtype)) {
    case TileClass::kF32: return unary_of<float>(op, dtype);
    case TileClass::kF64: return unary_of<double>(op, dtype);
    case TileClass::kI32: return unary_of<int32_t>(op, dtype);
    case TileClass::kI64: return unary_of<int64_t>(op, dtype);
  }
  return nullptr;
}

}  // namespace stoker::cpu
