// A block of output: rows x panels computed tile by tile. Shared by gemm and conv.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/cpu/gemm/epilogue.h"
#include "kernels/cpu/gemm/tile.h"

namespace stoker::cpu {

struct Block {
  TileKind kind = TileKind::kF32;
  const std::byte* const* rows = nullptr;
  int64_t row_count = 0;
  const int64_t* segments = nullptr;
  int64_t segment_count = 0, steps = 0, step_bytes = 4;
  const std::byte* b = nullptr;  // of the block's first panel
  int64_t panel_bytes = 0;
  int panels = 0;  // of the block
  int tile_panels = 1;
  // Values: one tile, or the whole block when `whole`, with the strides below.
  void* values = nullptr;
  bool whole = false;
  int64_t value_row = 0, value_panel = 0;
  bool accumulate = false;
  // kF32I8: room for the panels of a tile as f32, widened once where several tiles of rows read
  // them; null: each tile widens for itself. The sums are the same.
  float* widened = nullptr;
};

// Panels of i8 as panels of f32.
inline void widen_panels(const Block& block, int panel, int width) {
  for (int p = 0; p < width; ++p) {
    const auto* from =
        reinterpret_cast<const int8_t*>(block.b + (panel + p) * block.panel_bytes);
    float* to = block.widened + p * block.steps * 16;
    for (int64_t k = 0; k < block.steps * 16; k += 16) store(to + k, to_f32(load_i8(from + k)));
  }
}

// Calls done(TileValues, first row, first panel) for every tile.
template <class Done>
void run_block(const Block& block, Done done) {
  for (int panel = 0; panel < block.panels;) {
    int width = block.tile_panels;
    while (width > block.panels - panel) width /= 2;
    const RowSplit split(block.row_count, tile_rows(block.kind, width));
    const bool widens = block.widened && split.tiles > 1;
    if (widens) widen_panels(block, panel, width);
    const TileKind kind = widens ? TileKind::kF32 : block.kind;
    for (int64_t i = 0; i < split.tiles; ++i) {
      const int64_t row = split.start(i);
      const int height = static_cast<int>(split.start(i + 1) - row);
      TileArgs t;
      t.rows = block.rows + row;
      t.segments = block.segments;
      t.segment_count = block.segment_count;
      t.steps = block.steps;
      t.step_bytes = block.step_bytes;
      t.b = block.b + panel * block.panel_bytes;
      t.panel_bytes = block.panel_bytes;
      if (widens) {
        t.b = reinterpret_cast<const std::byte*>(block.widened);
        t.panel_bytes = block.steps * 64;
      }
      t.accumulate = block.accumulate;
      t.c_row = block.whole ? block.value_row : width * 16;
      t.c_panel = block.whole ? block.value_panel : 16;
      t.c = static_cast<float*>(block.values) +
            (block.whole ? row * block.value_row + panel * block.value_panel : 0);
      tile_function(kind, height, width)(t);
      done(TileValues{t.c, t.c_row, t.c_panel, height, width, nullptr}, row, panel);
    }
    panel += width;
  }
}

// Takes pieces off a worker's workspace; with a null base it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(int64_t count) {
    const int64_t offset = bytes_;
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return base_ ? reinterpret_cast<T*>(base_ + offset) : nullptr;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* base_;
  int64_t bytes_ = 0;
};

// Zero points of 8-bit products as the tiles see them: a + 128 when a is signed, b - 128 when b is
// unsigned. With S = sum of a' * b':
//   sum (a - a_zero)(b - b_zero) = S - a_zero' * sum(b') - b_zero' * sum(a') + K * a_zero' *
//   b_zero'
// All arithmetic wraps modulo 2^32.
struct ZeroPoints {
  uint32_t a_zero = 0, b_zero = 0, a_shift = 0;

  ZeroPoints() = default;
  ZeroPoints(int32_t a, DType a_dtype, int32_t b, DType b_dtype)
      : b_zero(static_cast<uint32_t>(b) - (b_dtype == DType::kU8 ? 128u : 0u)),
        a_shift(a_dtype == DType::kI8 ? 128u : 0u) {
    set_a(a, a_dtype);
  }
  void set_a(int32_t a, DType dtype) {
    a_zero = static_cast<uint32_t>(a) + (dtype == DType::kI8 ? 128u : 0u);
  }

  // Term of a column, whose b' sum up to `b_sum` over `k` products.
  int32_t column(int32_t b_sum, int64_t k) const {
    return static_cast<int32_t>(static_cast<uint32_t>(k) * a_zero * b_zero -
                                a_zero * static_cast<uint32_t>(b_sum));
  }
  // Term of a row, whose a (as stored) sum up to `a_sum`.
  int32_t row(int32_t a_sum, int64_t k) const {
    return static_cast<int32_t>(
        0u - b_zero * (static_cast<uint32_t>(a_sum) + static_cast<uint32_t>(k) * a_shift));
  }
};

// Adds a term per row (from row 0 of the tile) to i32 accumulators.
inline void add_row_terms(const TileValues& tile, const int32_t* terms) {
  for (int r = 0; r < tile.rows; ++r) {
    for (int p = 0; p < tile.panels; ++p) {
      auto* values = static_cast<uint32_t*>(tile.data) + r * tile.row + p * tile.panel;
      for (int j = 0; j < 16; ++j) values[j] += static_cast<uint32_t>(terms[r]);
    }
  }
}
inline void add_lane_terms(const TileValues& tile, const int32_t* terms) {
  for (int p = 0; p < tile.panels; ++p) {
    for (int r = 0; r < tile.rows; ++r) {
      auto* values = static_cast<uint32_t*>(tile.data) + r * tile.row + p * tile.panel;
      for (int j = 0; j < 16; ++j) values[j] += static_cast<uint32_t>(terms[p * 16 + j]);
    }
  }
}

}  // namespace stoker::cpu
