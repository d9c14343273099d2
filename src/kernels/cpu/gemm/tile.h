// The register tile that all gemms and convolutions share: up to 14 rows of A (any addresses: rows
// of a matrix or pixels of an image) times up to 8 panels of 16 columns of packed B, in f32 or in
// u8/i8 x i8 -> i32, or f32 x i8 -> f32. One step takes 64 bytes of each panel: 16 columns x one
// f32, or 16 columns x four bytes (of f32 x i8: 16 bytes, 16 columns x one); and 4 bytes of each
// row: one f32, or four bytes.
//
//   c[r][p][j] (+)= sum over segments s, steps k of  row[r][segment[s] + k * step_bytes] *
//   b[p][.][j]
//
// The order of accumulation of an element is that of b, whatever the tile's size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker::cpu {

struct TileArgs {
  const std::byte* const* rows = nullptr;
  const int64_t* segments = nullptr;  // byte offsets, the same for all rows
  int64_t segment_count = 0;
  int64_t steps = 0;  // per segment
  int64_t step_bytes = 4;
  const std::byte* b = nullptr;  // step_of_b() bytes a step, running on over the segments
  int64_t panel_bytes = 0;
  void* c = nullptr;               // f32 or i32
  int64_t c_row = 0, c_panel = 0;  // strides in elements
  bool accumulate = false;         // add to what c holds
};
using TileFunction = void (*)(const TileArgs&);

// A's type and, where it is another, B's. kI8 computes with a + 128.
enum class TileKind : uint8_t { kF32, kU8, kI8, kF32I8 };

inline constexpr bool sums_floats(TileKind kind) {
  return kind == TileKind::kF32 || kind == TileKind::kF32I8;
}
// Bytes of a panel that one step takes.
inline constexpr int64_t step_of_b(TileKind kind) { return kind == TileKind::kF32I8 ? 16 : 64; }

#if defined(__AVX512F__)
inline constexpr int kTileRows = 14;   // of the widest common tile
inline constexpr int kTilePanels = 2;  // and its panels
#elif defined(__AVX2__)
inline constexpr int kTileRows = 6;
inline constexpr int kTilePanels = 1;
#else
inline constexpr int kTileRows = 3;
inline constexpr int kTilePanels = 1;
#endif
inline constexpr int kMaxTilePanels = 8;
// Accumulators of any tile fit in this many elements.
inline constexpr int kMaxTileElements = 16 * 32;

// Rows of the tallest tile of that many panels (1, 2, 4 or 8); 0: there is none.
int tile_rows(TileKind kind, int panels);
// Panels of the tile to use for a matrix of so many rows: few rows take many panels, which keeps
// enough accumulators in flight without changing the order of accumulation.
int tile_panels(TileKind kind, int64_t rows);
// 1 <= rows <= tile_rows(kind, panels).
TileFunction tile_function(TileKind kind, int rows, int panels);

// Splits `count` rows into tiles of nearly equal heights; tile i starts at tile_start(i).
struct RowSplit {
  int64_t count = 0, tiles = 0;
  RowSplit(int64_t rows, int max_rows) : count(rows), tiles((rows + max_rows - 1) / max_rows) {}
  int64_t start(int64_t i) const {
    return i * (count / tiles) + (i < count % tiles ? i : count % tiles);
  }
};

}  // namespace stoker::cpu
