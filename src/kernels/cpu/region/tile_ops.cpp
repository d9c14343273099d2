// Arithmetic, comparison and selection on tiles. Plain loops that the compiler vectorises; the
// three cases of broadcasting (both full, one scalar) are loops of their own.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/region/tile_ops.h"

#include <cmath>
#include <type_traits>

#include "kernels/cpu/region/tile_loops.h"

namespace stoker::cpu {
namespace {

template <class T, class R, class F>
void binary_loop(TileShape shape, TileArg lhs, TileArg rhs, void* dst, int64_t ds1, F f) {
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    const T* a = static_cast<const T*>(lhs.data) + i1 * lhs.s1;
    const T* b = static_cast<const T*>(rhs.data) + i1 * rhs.s1;
    R* d = static_cast<R*>(dst) + i1 * ds1;
    if (lhs.s0 && rhs.s0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.n0; ++i) d[i] = f(a[i], b[i]);
    } else if (lhs.s0) {
      const T scalar = *b;
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.n0; ++i) d[i] = f(a[i], scalar);
    } else {
      const T scalar = *a;
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.n0; ++i) d[i] = f(scalar, b[i * rhs.s0]);
    }
  }
}

template <class T>
void select_loop(TileShape shape, TileArg condition, TileArg lhs, TileArg rhs, void* dst,
                 int64_t ds1) {
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    const int32_t* c = static_cast<const int32_t*>(condition.data) + i1 * condition.s1;
    const T* a = static_cast<const T*>(lhs.data) + i1 * lhs.s1;
    const T* b = static_cast<const T*>(rhs.data) + i1 * rhs.s1;
    T* d = static_cast<T*>(dst) + i1 * ds1;
    if (condition.s0 && lhs.s0 && rhs.s0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.n0; ++i) {
        const T x = a[i], y = b[i];
        d[i] = c[i] ? x : y;
      }
    } else if (condition.s0 && lhs.s0) {
      const T y = *b;
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.n0; ++i) {
        const T x = a[i];
        d[i] = c[i] ? x : y;
      }
    } else if (condition.s0 && rhs.s0) {
      const T x = *a;
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.n0; ++i) {
        const T y = b[i];
        d[i] = c[i] ? x : y;
      }
    } else {
      for (int64_t i = 0; i < shape.n0; ++i) {
        d[i] = c[i * condition.s0] ? a[i * lhs.s0] : b[i * rhs.s0];
      }
    }
  }
}

#define STOKER_BINARY(name, result, expression)                                     \
  template <class T>                                                                \
  void name##_tile(TileShape shape, TileArg a, TileArg b, void* dst, int64_t ds1) { \
    using R = result;                                                               \
    using U [[maybe_unused]] = typename Unsigned<T>::type;                          \
    binary_loop<T, R>(shape, a, b, dst, ds1,                                        \
                      [](T x, T y) -> R { return static_cast<R>(expression); });    \
  }

template <class T>
inline T pass_min(T x, T y) {
  if constexpr (std::is_integral_v<T>)
    return x < y ? x : y;
  else
    return (x < y) | (x != x) ? x : y;  // a NaN in either one comes out
}
template <class T>
inline T pass_max(T x, T y) {
  if constexpr (std::is_integral_v<T>)
    return x > y ? x : y;
  else
    return (x > y) | (x != x) ? x : y;
}
// Division by zero gives 0 and MIN / -1 wraps: data must not be able to stop the process.
template <class T>
inline T safe_div(T x, T y) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return y == 0 ? T(0) : (y == -1 ? negate(x) : x / y);
  } else if constexpr (std::is_integral_v<T>) {
    return y == 0 ? T(0) : x / y;
  } else {
    return x / y;
  }
}
// Integers: the sign of the divisor; floats: the sign of the dividend (fmod).
template <class T>
inline T safe_mod(T x, T y) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    if (y == 0 || y == -1) return 0;
    const T r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  } else if constexpr (std::is_integral_v<T>) {
    return y == 0 ? T(0) : x % y;
  } else {
    return std::fmod(x, y);
  }
}
template <class T>
inline T pow_of(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (std::is_signed_v<T> && y < 0)
      return x == 1 ? T(1) : (x == T(-1) ? ((y & 1) ? T(-1) : T(1)) : T(0));
    U base = static_cast<U>(x), result = 1;
    for (U e = static_cast<U>(y); e; e >>= 1) {
      if (e & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  } else {
    return std::pow(x, y);
  }
}

// Integers wrap, so they are added as unsigned.
STOKER_BINARY(add, T, static_cast<U>(x) + static_cast<U>(y))
STOKER_BINARY(sub, T, static_cast<U>(x) - static_cast<U>(y))
STOKER_BINARY(mul, T, static_cast<U>(x) * static_cast<U>(y))
STOKER_BINARY(div, T, safe_div(x, y))
STOKER_BINARY(min, T, pass_min(x, y))
STOKER_BINARY(max, T, pass_max(x, y))
STOKER_BINARY(mod, T, safe_mod(x, y))
STOKER_BINARY(equal, int32_t, x == y)
STOKER_BINARY(less, int32_t, x < y)
STOKER_BINARY(less_equal, int32_t, x <= y)
STOKER_BINARY(and, T, x& y)
STOKER_BINARY(or, T, x | y)
STOKER_BINARY(xor, T, x ^ y)
#undef STOKER_BINARY

template <class T>
void pow_tile(TileShape shape, TileArg a, TileArg b, void* dst, int64_t ds1) {
  // A scalar exponent is nearly always one of these, which are exact or correctly rounded steps.
  if (std::is_floating_point_v<T> && b.s0 == 0 && (b.s1 == 0 || shape.n1 == 1)) {
    const T exponent = *static_cast<const T*>(b.data);
    if (exponent == T(2))
      return unary_loop<T, T>(shape, a, dst, ds1, [](T x) -> T { return x * x; });
    if (exponent == T(3))
      return unary_loop<T, T>(shape, a, dst, ds1, [](T x) -> T { return x * x * x; });
    if (exponent == T(1)) return unary_loop<T, T>(shape, a, dst, ds1, [](T x) -> T { return x; });
  }
  binary_loop<T, T>(shape, a, b, dst, ds1, [](T x, T y) -> T { return pow_of(x, y); });
}

template <class T>
BinaryTile binary_of(RegionOp op) {
  switch (op) {
    case RegionOp::kAdd: return add_tile<T>;
    case RegionOp::kSub: return sub_tile<T>;
    case RegionOp::kMul: return mul_tile<T>;
    case RegionOp::kDiv: return div_tile<T>;
    case RegionOp::kMin: return min_tile<T>;
    case RegionOp::kMax: return max_tile<T>;
    case RegionOp::kPow: return pow_tile<T>;
    case RegionOp::kMod: return mod_tile<T>;
    case RegionOp::kEqual: return equal_tile<T>;
    case RegionOp::kLess: return less_tile<T>;
    case RegionOp::kLessEqual: return less_equal_tile<T>;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case RegionOp::kAnd: return and_tile<T>;
      case RegionOp::kOr: return or_tile<T>;
      case RegionOp::kXor: return xor_tile<T>;
      default: break;
    }
  }
  return nullptr;
}

}  // namespace

TileClass tile_class(DType dtype) {
  switch (dtype) {
    case DType::kF64: return TileClass::kF64;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return TileClass::kF32;
    case DType::kI64:
    case DType::kU64:
    case DType::kU32: return TileClass::kI64;
    default: return TileClass::kI32;
  }
}

bool is_tile_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU64:
    case DType::kU32:
    case DType::kU16:
    case DType::kU8:
    case DType::kBool: return true;
    default: return false;
  }
}

bool needs_normalize(DType dtype) {
  return dtype != DType::kF64 && dtype != DType::kF32 && dtype != DType::kI64 &&
         dtype != DType::kU64 && dtype != DType::kI32 && dtype != DType::kBool;
}

BinaryTile binary_tile(RegionOp op, DType argument) {
  switch (tile_class(argument)) {
    case TileClass::kF32: return binary_of<float>(op);
    case TileClass::kF64: return binary_of<double>(op);
    case TileClass::kI32: return binary_of<int32_t>(op);
    case TileClass::kI64:
      return argument == DType::kU64 ? binary_of<uint64_t>(op) : binary_of<int64_t>(op);
  }
  return nullptr;
}

SelectTile select_tile(TileClass c) {
  return class_bytes(c) == 4 ? select_loop<int32_t> : select_loop<int64_t>;
}

}  // namespace stoker::cpu
