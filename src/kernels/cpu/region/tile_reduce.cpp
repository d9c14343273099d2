// Reductions of tiles. f32 sums run in 64 independent lanes per 2048 elements, joined pairwise, and
// are then summed in double, so the error does not grow with the row; integers are exact
// (wrapping). The order depends on the row length alone.
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
  if constexpr (kind == Kind::kSum)
    return A(0);
  else if constexpr (kind == Kind::kProd)
    return A(1);
  else if constexpr (std::is_floating_point_v<T>) {
    return kind == Kind::kMax ? -std::numeric_limits<A>::infinity()
                              : std::numeric_limits<A>::infinity();
  } else {
    return static_cast<A>(kind == Kind::kMax ? std::numeric_limits<T>::min()
                                             : std::numeric_limits<T>::max());
  }
}

template <class T, Kind kind>
inline T combine(T a, T b) {
  if constexpr (kind == Kind::kSum) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  } else if constexpr (kind == Kind::kProd) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
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
using AccOf = std::conditional_t<std::is_floating_point_v<T>, double,
                                 std::conditional_t<sizeof(T) == 4, int64_t, T>>;

// Type of the lanes inside a run: f32 sums stay f32, i32 sums are widened at once.
template <class T, Kind kind>
using LaneOf = std::conditional_t<
    std::is_same_v<T, int32_t> && (kind == Kind::kSum || kind == Kind::kProd), int64_t,
    std::conditional_t<std::is_same_v<T, float> && kind == Kind::kProd, double, T>>;

template <class T, Kind kind>
void start(void* acc, int64_t count) {
  using A = AccOf<T, kind>;
  A* a = static_cast<A*>(acc);
  for (int64_t i = 0; i < count; ++i) a[i] = identity<A, T, kind>();
}

// Vectors of `width` lanes, and the same read from memory of any alignment.
template <class L, int width>
struct Lanes {
  typedef L Vec __attribute__((vector_size(width * sizeof(L))));
};
template <class T, int width>
struct Memory {
  typedef T Raw __attribute__((vector_size(width * sizeof(T)), aligned(sizeof(T)), may_alias));
};

template <Kind kind, class Vec>
inline void combine_lanes(Vec& a, const Vec& b) {
  if constexpr (kind == Kind::kSum)
    a = a + b;
  else if constexpr (kind == Kind::kProd)
    a = a * b;
  else if constexpr (kind == Kind::kMax)
    a = (b > a) | (b != b) ? b : a;
  else
    a = (b < a) | (b != b) ? b : a;
}

// One run of contiguous elements: four vectors of lanes, joined pairwise, then the lanes pairwise,
// then the tail.
template <class T, Kind kind, int width>
AccOf<T, kind> reduce_run(const T* data, int64_t count) {
  using A = AccOf<T, kind>;
  using L = LaneOf<T, kind>;
  using Vec = typename Lanes<L, width>::Vec;
  using Raw = typename Memory<T, width>::Raw;
  // Not a function: it would return a vector wider than some levels have.
  Vec a, b, c, d, next;
#define STOKER_LOAD(to, at) to = __builtin_convertvector(*reinterpret_cast<const Raw*>(at), Vec)
  STOKER_LOAD(a, data);
  STOKER_LOAD(b, data + width);
  STOKER_LOAD(c, data + 2 * width);
  STOKER_LOAD(d, data + 3 * width);
  int64_t i = 4 * width;
  for (; i + 4 * width <= count; i += 4 * width) {
    STOKER_LOAD(next, data + i);
    combine_lanes<kind>(a, next);
    STOKER_LOAD(next, data + i + width);
    combine_lanes<kind>(b, next);
    STOKER_LOAD(next, data + i + 2 * width);
    combine_lanes<kind>(c, next);
    STOKER_LOAD(next, data + i + 3 * width);
    combine_lanes<kind>(d, next);
  }
#undef STOKER_LOAD
  combine_lanes<kind>(a, b);
  combine_lanes<kind>(c, d);
  combine_lanes<kind>(a, c);
  L lanes[width];
  std::memcpy(lanes, &a, sizeof lanes);
  for (int half = width / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lanes[j] = combine<L, kind>(lanes[j], lanes[j + half]);
  }
  A result = static_cast<A>(lanes[0]);
  for (; i < count; ++i) result = combine<A, kind>(result, static_cast<A>(data[i]));
  return result;
}

template <class T, Kind kind>
AccOf<T, kind> reduce_any(const T* data, int64_t count) {
  using A = AccOf<T, kind>;
  if (count >= 64) return reduce_run<T, kind, 16>(data, count);
  if (count >= 16) return reduce_run<T, kind, 4>(data, count);
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
        result =
            combine<A, kind>(result, reduce_any<T, kind>(data + i, std::min(kRun, shape.n0 - i)));
      }
    } else {
      for (int64_t i = 0; i < shape.n0; ++i)
        result = combine<A, kind>(result, static_cast<A>(*data));
    }
    a[i1] = result;
  }
}

template <class T, Kind kind>
void lane(TileShape shape, TileArg arg, void* acc) {
  using A = AccOf<T, kind>;
  using L = LaneOf<T, kind>;
  constexpr int kBlock = 16;
  using Vec = typename Lanes<L, kBlock>::Vec;
  using Raw = typename Memory<T, kBlock>::Raw;
  A* a = static_cast<A*>(acc);
  for (int64_t j = 0; j < shape.n0; j += kBlock) {
    const int64_t width = std::min<int64_t>(kBlock, shape.n0 - j);
    for (int64_t i1 = 0; i1 < shape.n1; i1 += kLaneRun) {
      const int64_t last = std::min(i1 + kLaneRun, shape.n1);
      const T* data = static_cast<const T*>(arg.data) + i1 * arg.s1 + j * arg.s0;
      L part[kBlock];
      for (int l = 0; l < kBlock; ++l) part[l] = identity<L, T, kind>();
      if (width == kBlock && arg.s0 == 1) {
        Vec sum;
        std::memcpy(&sum, part, sizeof sum);
        for (int64_t i = i1; i < last; ++i, data += arg.s1) {
          combine_lanes<kind>(sum,
                              __builtin_convertvector(*reinterpret_cast<const Raw*>(data), Vec));
        }
        std::memcpy(part, &sum, sizeof sum);
      } else {
        for (int64_t i = i1; i < last; ++i, data += arg.s1) {
          for (int64_t l = 0; l < width; ++l) {
            part[l] = combine<L, kind>(part[l], static_cast<L>(data[l * arg.s0]));
          }
        }
      }
      for (int64_t l = 0; l < width; ++l) {
        a[j + l] = combine<A, kind>(a[j + l], static_cast<A>(part[l]));
      }
    }
  }
}

template <class T, Kind kind>
void finish(const void* acc, int64_t count, int64_t, void* dst) {
  using A = AccOf<T, kind>;
  for (int64_t i = 0; i < count; ++i)
    static_cast<T*>(dst)[i] = static_cast<T>(static_cast<const A*>(acc)[i]);
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
inline constexpr ReduceTile kMean{start<T, Kind::kSum>, row<T, Kind::kSum>, lane<T, Kind::kSum>,
                                  finish_mean<T>};

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
    case TileClass::kI64:
      return dtype == DType::kU64 ? reduce_of<uint64_t>(op) : reduce_of<int64_t>(op);
  }
  return nullptr;
}

}  // namespace stoker::cpu
