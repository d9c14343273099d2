// Loops that the tile functions share. Everything here is local to its ISA level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/region/tile_ops.h"

namespace stoker::cpu {

// Integers wrap, so they are computed as unsigned.
template <class T>
struct Unsigned {
  using type = T;
};
template <>
struct Unsigned<int32_t> {
  using type = uint32_t;
};
template <>
struct Unsigned<int64_t> {
  using type = uint64_t;
};

template <class T, class R, class F>
void unary_loop(TileShape shape, TileArg arg, void* dst, int64_t ds1, F f) {
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    const T* a = static_cast<const T*>(arg.data) + i1 * arg.s1;
    R* d = static_cast<R*>(dst) + i1 * ds1;
#pragma GCC ivdep
    for (int64_t i = 0; i < shape.n0; ++i) d[i] = f(a[i]);
  }
}

template <class T>
inline T negate(T x) {
  using U = typename Unsigned<T>::type;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(U{0} - static_cast<U>(x));
  else
    return -x;
}
}  // namespace stoker::cpu
