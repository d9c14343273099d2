// The bound form of a region program: what bind() (executor.cpp) makes and run() (executor_run.cpp)
// follows. Private to the region folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/cpu/region/executor.h"
#include "kernels/cpu/region/tile_ops.h"

namespace stoker::cpu {

// A source or destination of elements. Iotas are sources too: their "memory" is the index itself.
struct RegionSource {
  DType dtype = DType::kInvalid;
  int32_t operand = -1;  // index of the input or output; -1: an iota
  bool accumulator = false;
  bool partial = false;   // plain, walks the lanes of a kC16 space: only the valid lanes exist
  bool in_place = false;  // memory dtype and class are the same: values can be used where they lie
  int64_t element_bytes = 0;
  int64_t strides[kMaxRegionRank] = {};  // elements, per physical dim; 0: broadcast
};

struct RegionStep {
  RegionOp op = RegionOp::kConstant;
  DType dtype = DType::kF32;
  TileClass tile_class = TileClass::kF32;
  int32_t args[3] = {-1, -1, -1};
  int arity = 0;
  int32_t source = -1;  // kInput, kIota: index into sources
  bool varies = false;  // along the reduced axes
  bool normalize = false;
  int32_t stage = 0;    // reductions that must be finished before: pass in which it can be computed
  int32_t direct = -1;  // output that its result may be written to straight away
  bool used_later = false;
  int64_t slot = 0;         // byte offset of its tile in the scratch
  int64_t accumulator = 0;  // byte offset of a reduction's accumulators
  alignas(8) std::byte constant[8] = {};
  UnaryTile unary = nullptr;
  BinaryTile binary = nullptr;
  SelectTile select = nullptr;
  const ReduceTile* reduce = nullptr;
};

struct RegionTarget {
  int32_t value = 0;  // step
  RegionSource place;
  StoreTile store = nullptr;
};

// How tiles are cut. axis 0 is the inner axis of a tile, axis 1 the outer one.
enum class TileMode : uint8_t {
  kPointwise,  // the two innermost collapsed dims
  kRow,        // axis 0 = the reduced dims, axis 1 = the innermost kept dim
  kLane,       // axis 0 = the innermost kept dim, axis 1 = the reduced dims
};

class TileRegion final : public BoundRegion {
 public:
  void run(const int64_t* box_begin, const int64_t* box_extent, const void* const* inputs,
           void* const* outputs, const void* accumulator, const int64_t* accumulator_strides,
           std::byte* scratch) const override;

 private:
  friend class RegionBinder;
  friend class RegionRun;

  std::vector<RegionSource> sources_;
  std::vector<RegionStep> steps_;
  std::vector<RegionTarget> targets_;
  bool reduced_[kMaxRegionRank] = {};
  TileMode mode_ = TileMode::kPointwise;
  bool streaming_ = false;     // rows too long for one tile: passes over the row
  int64_t reduced_count_ = 1;  // elements of a row
  int64_t tile_elements_ = 0;
  int32_t passes_ = 1;
  int channel_dim_ = -1;  // physical dim of the channel groups; -1: no kC16
  int64_t channels_ = 0;
  int64_t states_bytes_ = 0;  // of the per-run bookkeeping at the head of the scratch
};

inline constexpr int64_t kPointwiseTile = 1024;
inline constexpr int64_t kReduceTile = 2048;
inline constexpr int64_t kLongestRow = 32768;  // elements of a tile that holds a whole row

// Per-run bookkeeping of a source or target, kept in the scratch.
struct PlaceState {
  std::byte* base = nullptr;           // of the box's first point; null for an iota
  int64_t start = 0;                   // of an iota: the index at the box's first point
  int64_t outer[kMaxRegionRank] = {};  // strides of the loops around the tiles
  int64_t group[kMaxRegionRank] = {};  // strides of the reduced dims
  int64_t s1 = 0, s0 = 0;              // strides of the tile's axes
  bool general = false;                // the reduced dims do not collapse into one stride
  int64_t offset = 0;                  // of the present tile, in elements
  int64_t cached_offset = 0, cached_n1 = -1, cached_n0 = -1;  // what the slot holds
};

// Where a step's result lies. Kind bit 1: varies along axis 1; bit 2: along axis 0.
struct TileValue {
  const std::byte* data = nullptr;
  int64_t s1 = 0;
  uint8_t kind = 0;
};

}  // namespace stoker::cpu
