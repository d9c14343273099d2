// Running of bound regions: cuts a box into tiles, evaluates the steps on each tile in L1 and
// stores the results. No allocation; all bookkeeping lies in the scratch.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>

#include "base/memory.h"
#include "kernels/cpu/region/region_run.h"

namespace stoker::cpu {

void RegionRun::run(const int64_t* begin, const int64_t* extent, const void* const* inputs,
                    void* const* outputs, const void* accumulator,
                    const int64_t* accumulator_strides, int64_t valid_lanes) {
  valid_lanes_ = valid_lanes;
  lane_outside_ = valid_lanes < kLaneCount;
  const int sources = static_cast<int>(r_.sources_.size());
  for (int p = 0; p < places_; ++p) {
    PlaceState& state = *new (&states_[p]) PlaceState;
    const RegionSource& at = place(p);
    const int64_t* strides = at.accumulator ? accumulator_strides : at.strides;
    for (int d = 0; d < r_.rank_; ++d) {
      state.outer[d] = strides[d];
      if (!at.accumulator) state.start += begin[d] * strides[d];
    }
    if (at.accumulator) {
      state.base = static_cast<std::byte*>(const_cast<void*>(accumulator));
    } else if (at.operand >= 0) {
      state.base = p < sources ? static_cast<std::byte*>(const_cast<void*>(inputs[at.operand]))
                               : static_cast<std::byte*>(outputs[at.operand]);
    }
  }
  collect_dims(extent);
  split_axes();
  walk_outer();
}

// Separates the reduced dims, drops extents of 1 and merges kept dims that every place walks as
// one.
void RegionRun::collect_dims(const int64_t* extent) {
  dims_ = group_dims_ = 0;
  const bool reducing = r_.mode_ != TileMode::kPointwise;
  for (int d = 0; d < r_.rank_; ++d) {
    if (reducing && r_.reduced_[d]) {
      if (extent[d] == 1) continue;
      for (int p = 0; p < places_; ++p) states_[p].group[group_dims_] = states_[p].outer[d];
      group_extents_[group_dims_++] = extent[d];
    }
  }
  for (int d = 0; d < r_.rank_; ++d) {
    if ((reducing && r_.reduced_[d]) || extent[d] == 1) continue;
    bool merge = dims_ > 0 && !(lane_outside_ && d == r_.rank_ - 1);
    for (int p = 0; merge && p < places_; ++p) {
      merge = states_[p].outer[dims_ - 1] == states_[p].outer[d] * extent[d];
    }
    if (merge) --dims_;
    const int64_t before = merge ? extents_[dims_] : 1;
    // Slot `dims_` is at most `d`, so the stride moved here has been read already.
    for (int p = 0; p < places_; ++p) states_[p].outer[dims_] = states_[p].outer[d];
    extents_[dims_++] = before * extent[d];
  }
}

void RegionRun::set_group(int p) {
  PlaceState& state = states_[p];
  int64_t stride = group_dims_ > 0 ? state.group[group_dims_ - 1] : 0;
  int64_t expected = stride;
  for (int g = group_dims_; g-- > 0;) {
    state.general = state.general || state.group[g] != expected;
    expected *= group_extents_[g];
  }
  (r_.mode_ == TileMode::kRow ? state.s0 : state.s1) = state.general ? 0 : stride;
}

void RegionRun::split_axes() {
  axis0_ = axis1_ = 1;
  const auto take = [&](int64_t PlaceState::*stride) {
    if (dims_ == 0) return int64_t{1};
    --dims_;
    for (int p = 0; p < places_; ++p) states_[p].*stride = states_[p].outer[dims_];
    return extents_[dims_];
  };
  switch (r_.mode_) {
    case TileMode::kPointwise:
      axis0_ = take(&PlaceState::s0);
      axis1_ = take(&PlaceState::s1);
      break;
    case TileMode::kRow:
      axis1_ = take(&PlaceState::s1);
      axis0_ = r_.reduced_count_;
      break;
    case TileMode::kLane:
      axis0_ = take(&PlaceState::s0);
      axis1_ = r_.reduced_count_;
      break;
  }
  const int64_t room = r_.tile_elements_;
  if (r_.mode_ == TileMode::kPointwise) {
    bool across = false;
    for (int p = 0; p < places_; ++p) {
      across = across || (place(p).operand >= 0 && states_[p].s0 > 1 && states_[p].s1 != 0);
    }
    edge0_ = std::min(axis0_, across && axis1_ >= 8 ? kTransposeEdge : room);
    edge1_ =
        std::clamp<int64_t>(room / std::max<int64_t>(edge0_, 1), 1, std::max<int64_t>(axis1_, 1));
    return;
  }
  for (int p = 0; p < places_; ++p) set_group(p);
  const int64_t length = std::max<int64_t>(r_.reduced_count_, 1);
  if (r_.mode_ == TileMode::kRow) {
    edge0_ = r_.streaming_ ? room : r_.reduced_count_;
    edge1_ =
        r_.streaming_ ? 1 : std::clamp<int64_t>(room / length, 1, std::max<int64_t>(axis1_, 1));
  } else {
    const int64_t lanes = r_.streaming_ ? kLaneCount : std::max<int64_t>(room / length, 1);
    edge0_ = std::min(axis0_, lanes > kLaneCount ? lanes / kLaneCount * kLaneCount : lanes);
    edge1_ = r_.streaming_ ? room / std::max<int64_t>(edge0_, 1) : r_.reduced_count_;
  }
}

void RegionRun::walk_outer() {
  int64_t at[kMaxRegionRank] = {};
  for (int d = 0; d < dims_; ++d) {
    if (extents_[d] == 0) return;
  }
  for (int p = 0; p < places_; ++p) states_[p].offset = states_[p].start;
  while (true) {
    walk_tiles();
    int d = dims_ - 1;
    for (; d >= 0; --d) {
      for (int p = 0; p < places_; ++p) states_[p].offset += states_[p].outer[d];
      if (++at[d] < extents_[d]) break;
      for (int p = 0; p < places_; ++p) states_[p].offset -= states_[p].outer[d] * extents_[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

void RegionRun::walk_tiles() {
  if (r_.mode_ == TileMode::kPointwise) {
    for (int64_t i1 = 0; i1 < axis1_; i1 += edge1_) {
      for (int64_t i0 = 0; i0 < axis0_; i0 += edge0_) {
        evaluate(std::min(edge1_, axis1_ - i1), std::min(edge0_, axis0_ - i0), i1, i0);
      }
    }
  } else if (r_.mode_ == TileMode::kRow) {
    for (int64_t i1 = 0; i1 < axis1_; i1 += edge1_)
      evaluate(std::min(edge1_, axis1_ - i1), axis0_, i1, 0);
  } else {
    for (int64_t i0 = 0; i0 < axis0_; i0 += edge0_)
      evaluate(axis1_, std::min(edge0_, axis0_ - i0), 0, i0);
  }
}

void RegionRun::evaluate(int64_t n1, int64_t n0, int64_t first1, int64_t first0) {
  n1_ = n1, n0_ = n0, first1_ = first1, first0_ = first0;
  if (r_.streaming_) return stream();
  for (size_t t = 0; t < r_.targets_.size(); ++t) stored_directly_[t] = false;
  for (size_t i = 0; i < r_.steps_.size(); ++i) {
    if (r_.steps_[i].reduce)
      reduce(i, true, true);
    else
      run_step(i);
  }
  store_targets();
}

// Rows that do not fit a tile: one pass over the row per stage. Values that vary along the row are
// computed again in each pass that needs them; the others once.
void RegionRun::stream() {
  const bool row = r_.mode_ == TileMode::kRow;
  const int64_t total = r_.reduced_count_, edge = row ? edge0_ : edge1_;
  for (int32_t pass = 0; pass < r_.passes_; ++pass) {
    const bool final_pass = pass + 1 == r_.passes_;
    for (int64_t at = 0; at < total; at += edge) {
      const int64_t count = std::min(edge, total - at);
      (row ? n0_ : n1_) = count;
      (row ? first0_ : first1_) = at;
      for (size_t t = 0; t < r_.targets_.size(); ++t) stored_directly_[t] = false;
      for (size_t i = 0; i < r_.steps_.size(); ++i) {
        const RegionStep& step = r_.steps_[i];
        if (step.reduce) {
          if (step.stage == pass + 1) reduce(i, at == 0, at + edge >= total);
        } else if (step.varies ? step.stage <= pass : step.stage == pass && at == 0) {
          run_step(i);
        }
      }
      if (final_pass) store_targets();
    }
  }
}

void RegionRun::run_step(size_t i) {
  const RegionStep& step = r_.steps_[i];
  if (step.op == RegionOp::kConstant) {
    values_[i] = {step.constant, 0, 0};
  } else if (step.source >= 0) {
    run_source(i);
  } else {
    compute(i);
  }
}

namespace {

// Lanes past the last channel of a c16 output hold zeros on every edge.
void zero_lanes(const RegionSource& place, int rank, const int64_t* begin, const int64_t* extent,
                std::byte* base, int64_t valid) {
  const int lane = rank - 1;
  const int64_t from = std::max(begin[lane], valid), to = begin[lane] + extent[lane];
  if (from >= to || place.strides[lane] == 0) return;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] == 0) return;
  }
  int64_t at[kMaxRegionRank] = {};
  while (true) {
    int64_t offset = from;
    for (int d = 0; d < lane; ++d) offset += (begin[d] + at[d]) * place.strides[d];
    std::memset(base + offset * place.element_bytes, 0,
                static_cast<size_t>((to - from) * place.element_bytes));
    int d = lane - 1;
    for (; d >= 0; --d) {
      // A dim that the output does not walk needs one visit.
      if (++at[d] < (place.strides[d] == 0 ? 1 : extent[d])) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

void TileRegion::run(const int64_t* box_begin, const int64_t* box_extent, const void* const* inputs,
                     void* const* outputs, const void* accumulator,
                     const int64_t* accumulator_strides, std::byte* scratch) const {
  const auto aligned = reinterpret_cast<std::byte*>(
      round_up(static_cast<int64_t>(reinterpret_cast<uintptr_t>(scratch)), kTensorAlignment));
  const int c = channel_dim_;
  const int64_t tail = channels_ % kLaneCount;
  const bool touches_tail =
      c >= 0 && tail != 0 && box_begin[c] + box_extent[c] == extents_[c] && box_extent[c] > 0;
  if (!touches_tail) {
    RegionRun(*this, aligned)
        .run(box_begin, box_extent, inputs, outputs, accumulator, accumulator_strides, kLaneCount);
    return;
  }
  int64_t begin[kMaxRegionRank], extent[kMaxRegionRank];
  std::copy(box_begin, box_begin + rank_, begin);
  std::copy(box_extent, box_extent + rank_, extent);
  if (--extent[c] > 0) {
    RegionRun(*this, aligned)
        .run(begin, extent, inputs, outputs, accumulator, accumulator_strides, kLaneCount);
  }
  const auto* tail_accumulator = static_cast<const std::byte*>(accumulator);
  if (accumulator) {
    tail_accumulator += extent[c] * accumulator_strides[c] * sources_[0].element_bytes;
  }
  begin[c] += extent[c];
  extent[c] = 1;
  RegionRun(*this, aligned)
      .run(begin, extent, inputs, outputs, tail_accumulator, accumulator_strides, tail);
  for (const RegionTarget& target : targets_) {
    zero_lanes(target.place, rank_, begin, extent,
               static_cast<std::byte*>(outputs[target.place.operand]), tail);
  }
}

}  // namespace stoker::cpu
