// Register tiles, see tile.h. f32 is bound by the FMA ports: a 14 x 32 tile issues 28 FMA, 14
// broadcasts and 2 loads a step; i8 columns are widened as they are loaded. 8 bits: vpdpbusd where
// the level has VNNI, otherwise bytes are widened to pairs of i16 for the exact vpmaddwd
// (vpmaddubsw would saturate). All levels give the same integers.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gemm/tile.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/simd.h"

namespace stoker::cpu {
namespace {

// Heights of the tallest tiles of 1, 2, 4 and 8 panels, so that accumulators stay in registers.
struct Heights {
  int of[4];
};
#if defined(__AVX512F__)
constexpr Heights kHeightsF32 = {{14, 14, 6, 2}};
#if defined(__AVX512VNNI__)
constexpr Heights kHeightsI8 = {{14, 14, 6, 2}};
#else
constexpr Heights kHeightsI8 = {{14, 8, 3, 0}};
#endif
#elif defined(__AVX2__)
constexpr Heights kHeightsF32 = {{6, 3, 1, 0}};
constexpr Heights kHeightsI8 = {{4, 1, 0, 0}};
#else
constexpr Heights kHeightsF32 = {{3, 1, 0, 0}};
constexpr Heights kHeightsI8 = {{2, 0, 0, 0}};
#endif

constexpr int log2_panels(int panels) {
  return panels == 1 ? 0 : panels == 2 ? 1 : panels == 4 ? 2 : 3;
}
constexpr const Heights& heights(TileKind kind) {
  return sums_floats(kind) ? kHeightsF32 : kHeightsI8;
}

// Sixteen columns of one step, f32 or i8.
template <bool kBytes>
STOKER_INLINE VecF load_columns(const std::byte* b) {
  if constexpr (kBytes) return to_f32(load_i8(reinterpret_cast<const int8_t*>(b)));
  return load(reinterpret_cast<const float*>(b));
}

template <int R, int P, bool kBytes>
STOKER_INLINE void step_f32(VecF (&acc)[R][P], const std::byte* const (&a)[R], int64_t offset,
                            const std::byte* b, int64_t panel_bytes) {
  VecF bv[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) bv[p] = load_columns<kBytes>(b + p * panel_bytes);
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
    const VecF av = broadcast(*reinterpret_cast<const float*>(a[r] + offset));
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) acc[r][p] = fma(av, bv[p], acc[r][p]);
  }
}

template <int R, int P, bool kBytes>
void tile_f32(const TileArgs& t) {
  constexpr int64_t kStep = kBytes ? 16 : 64;
  VecF acc[R][P];
  float* c = static_cast<float*>(t.c);
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      acc[r][p] = t.accumulate ? load(c + r * t.c_row + p * t.c_panel) : broadcast(0.0f);
    }
  }
  const std::byte* b = t.b;
  const int64_t panel_bytes = t.panel_bytes;
  for (int64_t s = 0; s < t.segment_count; ++s) {
    const std::byte* a[R];
    const int64_t segment = t.segments[s];
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r) a[r] = t.rows[r] + segment;
    int64_t k = 0;
    if (t.step_bytes == 4) {
      for (; k + 4 <= t.steps; k += 4, b += 4 * kStep) {
        step_f32<R, P, kBytes>(acc, a, k * 4, b, panel_bytes);
        step_f32<R, P, kBytes>(acc, a, k * 4 + 4, b + kStep, panel_bytes);
        step_f32<R, P, kBytes>(acc, a, k * 4 + 8, b + 2 * kStep, panel_bytes);
        step_f32<R, P, kBytes>(acc, a, k * 4 + 12, b + 3 * kStep, panel_bytes);
      }
    }
    for (; k < t.steps; ++k, b += kStep)
      step_f32<R, P, kBytes>(acc, a, k * t.step_bytes, b, panel_bytes);
  }
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) store(c + r * t.c_row + p * t.c_panel, acc[r][p]);
  }
}

#if defined(__AVX512VNNI__)
// Inline assembly: with the intrinsic, gcc 12 copies the accumulators of large tiles in every step.
template <int R, int P, bool kSigned>
STOKER_INLINE void step_i8(VecI (&acc)[R][P], const std::byte* const (&a)[R], int64_t offset,
                           const std::byte* b, int64_t panel_bytes) {
  VecI bv[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) bv[p] = load(reinterpret_cast<const int32_t*>(b + p * panel_bytes));
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
    int32_t quad;
    std::memcpy(&quad, a[r] + offset, 4);
    VecI av = broadcast(quad);
    if (kSigned) av = av ^ broadcast(static_cast<int32_t>(0x80808080));
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      asm("vpdpbusd %2, %1, %0" : "+v"(acc[r][p].v[0]) : "v"(av.v[0]), "v"(bv[p].v[0]));
    }
  }
}
#else
template <int R, int P, bool kSigned>
STOKER_INLINE void step_i8(VecI (&acc)[R][P], const std::byte* const (&a)[R], int64_t offset,
                           const std::byte* b, int64_t panel_bytes) {
  VecI even[P], odd[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) {
    const VecI bv = load(reinterpret_cast<const int32_t*>(b + p * panel_bytes));
    even[p] = even_signed(bv);
    odd[p] = odd_signed(bv);
  }
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
    uint32_t quad;
    std::memcpy(&quad, a[r] + offset, 4);
    if (kSigned) quad ^= 0x80808080u;
    const VecI low = broadcast(static_cast<int32_t>(quad & 0x00ff00ffu));
    const VecI high = broadcast(static_cast<int32_t>((quad >> 8) & 0x00ff00ffu));
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      acc[r][p] = acc[r][p] + madd16(low, even[p]);
      acc[r][p] = acc[r][p] + madd16(high, odd[p]);
    }
  }
}
#endif

template <int R, int P, bool kSigned>
void tile_i8(const TileArgs& t) {
  VecI acc[R][P];
  int32_t* c = static_cast<int32_t*>(t.c);
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      acc[r][p] = t.accumulate ? load(c + r * t.c_row + p * t.c_panel) : broadcast(int32_t{0});
    }
  }
  const std::byte* b = t.b;
  const int64_t panel_bytes = t.panel_bytes;
  for (int64_t s = 0; s < t.segment_count; ++s) {
    const std::byte* a[R];
    const int64_t segment = t.segments[s];
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r) a[r] = t.rows[r] + segment;
    int64_t k = 0;
    if (t.step_bytes == 4) {
      for (; k + 4 <= t.steps; k += 4, b += 256) {
        step_i8<R, P, kSigned>(acc, a, k * 4, b, panel_bytes);
        step_i8<R, P, kSigned>(acc, a, k * 4 + 4, b + 64, panel_bytes);
        step_i8<R, P, kSigned>(acc, a, k * 4 + 8, b + 128, panel_bytes);
        step_i8<R, P, kSigned>(acc, a, k * 4 + 12, b + 192, panel_bytes);
      }
    }
    for (; k < t.steps; ++k, b += 64) {
      step_i8<R, P, kSigned>(acc, a, k * t.step_bytes, b, panel_bytes);
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) store(c + r * t.c_row + p * t.c_panel, acc[r][p]);
  }
}

template <TileKind kKind, int R, int P>
constexpr TileFunction tile_of() {
  if constexpr (R > heights(kKind).of[log2_panels(P)])
    return nullptr;
  else if constexpr (sums_floats(kKind))
    return tile_f32<R, P, kKind == TileKind::kF32I8>;
  else
    return tile_i8<R, P, kKind == TileKind::kI8>;
}

template <TileKind kKind, int... kRows>
TileFunction pick(int rows, int panels, std::integer_sequence<int, kRows...>) {
  static constexpr TileFunction table[4][sizeof...(kRows)] = {
      {tile_of<kKind, kRows + 1, 1>()...},
      {tile_of<kKind, kRows + 1, 2>()...},
      {tile_of<kKind, kRows + 1, 4>()...},
      {tile_of<kKind, kRows + 1, 8>()...},
  };
  return table[log2_panels(panels)][rows - 1];
}

}  // namespace

int tile_rows(TileKind kind, int panels) { return heights(kind).of[log2_panels(panels)]; }

int tile_panels(TileKind kind, int64_t rows) {
  for (const int panels : {8, 4, 2}) {
    const int height = tile_rows(kind, panels);
    if (height > 0 && rows <= height) return panels;
  }
  return tile_rows(kind, kTilePanels) > 0 ? kTilePanels : 1;
}

TileFunction tile_function(TileKind kind, int rows, int panels) {
  constexpr auto kAll = std::make_integer_sequence<int, 14>();
  switch (kind) {
    case TileKind::kF32: return pick<TileKind::kF32>(rows, panels, kAll);
    case TileKind::kU8: return pick<TileKind::kU8>(rows, panels, kAll);
    case TileKind::kF32I8: return pick<TileKind::kF32I8>(rows, panels, kAll);
    default: return pick<TileKind::kI8>(rows, panels, kAll);
  }
}

}  // namespace stoker::cpu
