// The evaluation of one box; lives on the stack of BoundRegion::run. Private to the region folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/region/bound_region.h"

namespace stoker::cpu {

inline constexpr uint8_t kOuter = 1, kInner = 2, kFull = 3;
inline constexpr int64_t kShortLane =
    64;  // inner extents below this make broadcast rows worth expanding
inline constexpr int64_t kTransposeEdge =
    32;  // tile edges when an operand is walked across its memory

// One box. Places are the sources followed by the targets.
class RegionRun {
 public:
  RegionRun(const TileRegion& region, std::byte* scratch)
      : r_(region),
        scratch_(scratch),
        states_(reinterpret_cast<PlaceState*>(scratch)),
        values_(reinterpret_cast<TileValue*>(scratch + region.states_bytes_)),
        places_(static_cast<int>(region.sources_.size() + region.targets_.size())) {}

  void run(const int64_t* begin, const int64_t* extent, const void* const* inputs,
           void* const* outputs, const void* accumulator, const int64_t* accumulator_strides,
           int64_t valid_lanes);

 private:
  const RegionSource& place(int p) const {
    const int sources = static_cast<int>(r_.sources_.size());
    return p < sources ? r_.sources_[static_cast<size_t>(p)]
                       : r_.targets_[static_cast<size_t>(p - sources)].place;
  }
  void collect_dims(const int64_t* extent);
  void split_axes();
  void set_group(int p);
  void walk_outer();
  void walk_tiles();
  void evaluate(int64_t n1, int64_t n0, int64_t first1, int64_t first0);
  void stream();
  void run_step(size_t i);
  void run_source(size_t i);
  void load_copy(const RegionStep& step, PlaceState& state, TileShape shape, int64_t s1,
                 int64_t s0);
  void load_general(const RegionStep& step, const PlaceState& state);
  void reduce(size_t i, bool first, bool last);
  void compute(size_t i);
  void* direct_target(const RegionStep& step, uint8_t kind, int64_t& ds1);
  void store_targets();
  void store_general(const RegionTarget& target, const PlaceState& state, const TileValue& value);
  int64_t group_offset(const PlaceState& state, int64_t index) const;
  TileArg argument(const TileValue& value, uint8_t kind) const;
  std::byte* slot(const RegionStep& step) const { return scratch_ + step.slot; }

  const TileRegion& r_;
  std::byte* scratch_;
  PlaceState* states_;
  TileValue* values_;
  int places_;
  int64_t valid_lanes_ = kLaneCount;

  // Collapsed dims of the box: extents, then per place the strides in PlaceState::outer.
  int dims_ = 0;
  int64_t extents_[kMaxRegionRank];
  int group_dims_ = 0;
  int64_t group_extents_[kMaxRegionRank];
  int64_t axis1_ = 1, axis0_ = 1;  // extents of the tile axes over the whole box
  int64_t edge1_ = 1, edge0_ = 1;  // tile sizes along them
  bool lane_outside_ = false;      // every tile holds lanes past the last channel
  // The present tile.
  int64_t n1_ = 1, n0_ = 1;
  int64_t first1_ = 0, first0_ = 0;
  bool stored_directly_[64];
};

}  // namespace stoker::cpu
