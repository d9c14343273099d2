// The vectorised operations of the region executor on tiles in L1. A tile has n1 rows of n0
// elements; values live in one of four register classes, and dtypes narrower than their class are
// brought back into their range (`normalize`) after each arithmetic step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/desc/region.h"

namespace stoker::cpu {

// What a value is held as: f16 and bf16 as f32; bool, 8, 16 bit integers as i32; u32, u64 as i64
// (u64 as its bit pattern).
enum class TileClass : uint8_t { kF32, kF64, kI32, kI64 };

TileClass tile_class(DType dtype);  // of a dtype that regions compute on
inline int64_t class_bytes(TileClass c) {
  return c == TileClass::kF32 || c == TileClass::kI32 ? 4 : 8;
}
bool is_tile_dtype(DType dtype);    // can be loaded and stored
bool needs_normalize(DType dtype);  // narrower than its class

// An argument: element (i1, i0) lies at data[i1 * s1 + i0 * s0], s0 is 0 or 1.
struct TileArg {
  const void* data = nullptr;
  int64_t s1 = 0;
  int64_t s0 = 0;
};

struct TileShape {
  int64_t n1 = 1, n0 = 1;
};

// dst has rows of ds1 elements, its elements are contiguous. dst may be an argument's own storage.
using UnaryTile = void (*)(TileShape shape, TileArg a, void* dst, int64_t ds1);
using BinaryTile = void (*)(TileShape shape, TileArg a, TileArg b, void* dst, int64_t ds1);
using SelectTile = void (*)(TileShape shape, TileArg condition, TileArg a, TileArg b, void* dst,
                            int64_t ds1);

// Null when the combination does not exist (check_region refuses it before).
UnaryTile unary_tile(RegionOp op, DType dtype);
BinaryTile binary_tile(RegionOp op, DType argument);  // comparisons write an i32 of 0 or 1
SelectTile select_tile(TileClass c);
UnaryTile cast_tile(DType from, DType to);
// Brings `count` elements of a class back into the range of a narrower dtype, in place.
void normalize_tile(DType dtype, void* data, int64_t count);

// Memory of a dtype to its class and back. Strides in elements.
using LoadTile = void (*)(TileShape shape, const void* src, int64_t s1, int64_t s0, void* dst);
using StoreTile = void (*)(TileShape shape, TileArg value, void* dst, int64_t s1, int64_t s0);
LoadTile load_tile(DType dtype);
StoreTile store_tile(DType dtype);

// start + i1 * s1 + i0 * s0 in the dtype's class.
void iota_tile(DType dtype, TileShape shape, int64_t start, int64_t s1, int64_t s0, void* dst);
// The value of a constant, in the dtype's class, at dst (8 bytes).
void constant_tile(DType dtype, double value, void* dst);

// Reductions: partial results are kept in accumulators of 8 bytes (f64, i64, or the value itself
// for max and min), so that rows longer than a tile can be reduced tile after tile.
enum class ReduceAxis : uint8_t { kRow, kLane };  // along i0 (one result per i1), along i1
struct ReduceTile {
  // acc has n1 (kRow) or n0 (kLane) entries.
  void (*start)(void* acc, int64_t count);
  void (*row)(TileShape shape, TileArg a, void* acc);
  void (*lane)(TileShape shape, TileArg a, void* acc);
  // Writes the results in the class; `length`: elements reduced into each.
  void (*finish)(const void* acc, int64_t count, int64_t length, void* dst);
};
const ReduceTile* reduce_tile(RegionOp op, DType dtype);

}  // namespace stoker::cpu
