// Reductions of tiles. f32 sums run in 64 independent lanes per 2048 elements and are then combined
// pairwise in double, so the error does not grow with the row; integers are exact (wrapping). The order
// depends on the row length alone.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/cpu/region/tile_ops.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kRun = 2048;    // elements summed in f32 before going to double
constexpr int64_t kLaneRun = 32;  // rows summed in f32 in a lane reduction

enum class Kind { kSum, kMax, kMin, kProd };

template <class A, class T, Kind kind>
constexpr A identity() {
  if constexpr (kind == Kind::kSum) return A(0);
  else if constexpr (kind == Kind::kProd) return A(1);
  else if constexpr (std::is_floating_point_v<T>) {
    return kind == Kind::kMax ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::infinity();
  } else {
    return static_cast<A>(kind == Kind::kMax ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
  }
}

template <class T, Kind kind>
inline T combine(T a, T b) {
  if constexpr (kind == Kind::kSum) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  } else if constexpr (kind == Kind::kProd) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  } else if constexpr (std::is_floating_point_v<T>) {
    // b is the new element: its NaN is taken, and a NaN in a stays.
    const bool take = (kind == Kind::kMax ? b > a : b < a) | (b != b);
    return take ? b : a;
  } else {
    return kind == Kind::kMax ? std::max(a, b) : std::min(a, b);
  }
}

// u64 bit patterns are compared as unsigned; T is then uint64_t while storage stays 8 bytes.
template <class T, Kind kind>
using AccOf = std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<sizeof(T) == 4, int64_t, T>>;

// Type of the lanes inside a run: f32 sums stay f32, i32 sums are widened at once.
template <class T, Kind kind>
using LaneOf = std::conditional_t<std::is_same_v<T, int32_t> && (kind == Kind::kSum || kind == Kind::kProd),
                                  int64_t, std::conditional_t<std::is_same_v<T, float> && kind == Kind::kProd, double, T>>;

template <class T, Kind kind>
void start(void* acc, int64_t count) {
  using A = AccOf<T, kind>;
  A* a = static_cast<A*>(acc);
  for (int64_t i = 0; i < count; ++i) a[i] = identity<A, T, kind>();
}

// One run of contiguous elements: kWidth lanes, then the tail, then a pairwise tree.
template <class T, Kind kind, int kWidth>
AccOf<T, kind> reduce_run(const T* data, int64_t count) {
  using A = AccOf<T, kind>;
  using L = LaneOf<T, kind>;
  typedef L Vec __attribute__((vector_size(kWidth / 4 * sizeof(L))));
  typedef T Raw __attribute__((vector_size(kWidth / 4 * sizeof(T)), aligned(sizeof(T)), may_alias));
  Vec lanes[4];
  for (int j = 0; j < 4; ++j) lanes[j] = __builtin_convertvector(reinterpret_cast<const Raw*>(data)[j], Vec);
  int64_t i = kWidth;
  for (; i + kWidth <= count; i += kWidth) {
    for (int j = 0; j < 4; ++j) {
      const Vec v = __builtin_convertvector(*reinterpret_cast<const Raw*>(data + i + j * (kWidth / 4)), Vec);
      if constexpr (kind == Kind::kSum) lanes[j] = lanes[j] + v;
      else if constexpr (kind == Kind::kProd) lanes[j] = lanes[j] * v;
      else if constexpr (kind == Kind::kMax) lanes[j] = (v > lanes[j]) | (v != v) ? v : lanes[j];
      else lanes[j] = (v < lanes[j]) | (v != v) ? v : lanes[j];
    }
  }
  A wide[kWidth];
  for (int j = 0; j < kWidth; ++j) wide[j] = static_cast<A>(lanes[j / (kWidth / 4)][j % (kWidth / 4)]);
  for (int width = kWidth / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) wide[j] = combine<A, kind>(wide[j], wide[j + width]);
  }
  A result = wide[0];
  for (; i < count; ++i) result = combine<A, kind>(result, static_cast<A>(data[i]));
  return result;
}

template <class T, Kind kind>
AccOf<T, kind> reduce_any(const T* data, int64_t count) {
  using A = AccOf<T, kind>;
  if (count >= 64) return reduce_run<T, kind, 64>(data, count);
  if (count >= 16) return reduce_run<T, kind, 16>(data, count);
  A result = identity<A, T, kind>();
  for (int64_t i = 0; i < count; ++i) result = combine<A, kind>(result, static_cast<A>(data[i]));
  return result;
}

template <class T, Kind kind>
void row(TileShape shape, TileArg arg, void* acc) {
  using A = AccOf<T, kind>;
  A* a = static_cast<A*>(acc);
  for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
    const T* data = static_cast<const T*>(arg.data) + i1 * arg.s1;
    A result = a[i1];
    if (arg.s0 == 1) {
      for (int64_t i = 0; i < shape.n0; i += kRun) {
        result = combine<A, kind>(result, reduce_any<T, kind>(data + i, std::min(kRun, shape.n0 - i)));
      }
    } else {
      for (int64_t i = 0; i < shape.n0; ++i) result = combine<A, kind>(result, static_cast<A>(*data));
    }
    a[i1] = result;
  }
}

template <class T, Kind kind>
void lane(TileShape shape, TileArg arg, void* acc) {
  using A = AccOf<T, kind>;
  using L = LaneOf<T, kind>;
  A* a = static_cast<A*>(acc);
  constexpr int64_t kBlock = 16;
  for (int64_t j = 0; j < shape.n0; j += kBlock) {
    const int64_t width = std::min(kBlock, shape.n0 - j);
    for (int64_t i1 = 0; i1 < shape.n1; i1 += kLaneRun) {
      const int64_t last = std::min(i1 + kLaneRun, shape.n1);
      L part[kBlock];
      for (int64_t l = 0; l < kBlock; ++l) part[l] = identity<L, T, kind>();
      const T* data = static_cast<const T*>(arg.data) + i1 * arg.s1 + j * arg.s0;
      if (width == kBlock && arg.s0 == 1) {
        for (int64_t i = i1; i < last; ++i, data += arg.s1) {
#pragma GCC ivdep
          for (int64_t l = 0; l < kBlock; ++l) part[l] = combine<L, kind>(part[l], static_cast<L>(data[l]));
        }
      } else {
        for (int64_t i = i1; i < last; ++i, data += arg.s1) {
          for (int64_t l = 0; l < width; ++l) part[l] = combine<L, kind>(part[l], static_cast<L>(data[l * arg.s0]));
        }
      }
      for (int64_t l = 0; l < width; ++l) a[j + l] = combine<A, kind>(a[j + l], static_cast<A>(part[l]));
    }
  }
}

template <class T, Kind kind>
void finish(const void* acc, int64_t count, int64_t, void* dst) {
  using A = AccOf<T, kind>;
  for (int64_t i = 0; i < count; ++i) static_cast<T*>(dst)[i] = static_cast<T>(static_cast<const A*>(acc)[i]);
}

template <class T>
void finish_mean(const void* acc, int64_t count, int64_t length, void* dst) {
  using A = AccOf<T, Kind::kSum>;
  for (int64_t i = 0; i < count; ++i) {
    const A sum = static_cast<const A*>(acc)[i];
    if constexpr (std::is_floating_point_v<T>) {
      static_cast<T*>(dst)[i] = static_cast<T>(sum / static_cast<double>(length));
    } else {
      static_cast<T*>(dst)[i] = length == 0 ? T(0) : static_cast<T>(sum / static_cast<A>(length));
    }
  }
}

template <class T, Kind kind>
inline constexpr ReduceTile kReduce{start<T, kind>, row<T, kind>, lane<T, kind>, finish<T, kind>};
template <class T>
inline constexpr ReduceTile kMean{start<T, Kind::kSum>, row<T, Kind::kSum>, lane<T, Kind::kSum>, finish_mean<T>};

template <class T>
const ReduceTile* reduce_of(RegionOp op) {
  switch (op) {
    case RegionOp::kReduceSum: return &kReduce<T, Kind::kSum>;
    case RegionOp::kReduceMean: return &kMean<T>;
    case RegionOp::kReduceMax: return &kReduce<T, Kind::kMax>;
    case RegionOp::kReduceMin: return &kReduce<T, Kind::kMin>;
    case RegionOp::kReduceProd: return &kReduce<T, Kind::kProd>;
    default: return nullptr;
  }
}

}  // namespace

const ReduceTile* reduce_tile(RegionOp op, DType dtype) {
  switch (tile_class(dtype)) {
    case TileClass::kF32: return reduce_of<float>(op);
    case TileClass::kF64: return reduce_of<double>(op);
    case TileClass::kI32: return reduce_of<int32_t>(op);
    case TileClass::kI64: return dtype == DType::kU64 ? reduce_of<uint64_t>(op) : reduce_of<int64_t>(op);
  }
  return nullptr;
}

}  // namespace stoker::cpu
