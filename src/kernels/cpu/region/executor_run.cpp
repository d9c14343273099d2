// Running of bound regions: cuts a box into tiles, evaluates the steps on each tile in L1 and stores
// the results. No allocation; all bookkeeping lies in the scratch.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>

#include "base/memory.h"
#include "kernels/cpu/region/bound_region.h"

namespace stoker::cpu {

namespace {
constexpr uint8_t kOuter = 1, kInner = 2, kFull = 3;
constexpr int64_t kShortLane = 64;     // inner extents below this make broadcast rows worth expanding
constexpr int64_t kTransposeEdge = 32; // tile edges when an operand is walked across its memory
}  // namespace

// One box. Places are the sources followed by the targets.
class RegionRun {
 public:
  RegionRun(const TileRegion& region, std::byte* scratch)
      : r_(region), scratch_(scratch), states_(reinterpret_cast<PlaceState*>(scratch)),
        values_(reinterpret_cast<TileValue*>(scratch + region.states_bytes_)),
        places_(static_cast<int>(region.sources_.size() + region.targets_.size())) {}

  void run(const int64_t* begin, const int64_t* extent, const void* const* inputs, void* const* outputs,
           const void* accumulator, const int64_t* accumulator_strides, int64_t valid_lanes);

 private:
  const RegionSource& place(int p) const {
    const int sources = static_cast<int>(r_.sources_.size());
    return p < sources ? r_.sources_[static_cast<size_t>(p)] : r_.targets_[static_cast<size_t>(p - sources)].place;
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
  void load_copy(const RegionStep& step, PlaceState& state, TileShape shape, int64_t s1, int64_t s0);
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

void RegionRun::run(const int64_t* begin, const int64_t* extent, const void* const* inputs, void* const* outputs,
                    const void* accumulator, const int64_t* accumulator_strides, int64_t valid_lanes) {
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

// Separates the reduced dims, drops extents of 1 and merges kept dims that every place walks as one.
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
  const auto take = [&](int64_t PlaceState::* stride) {
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
    edge1_ = std::clamp<int64_t>(room / std::max<int64_t>(edge0_, 1), 1, std::max<int64_t>(axis1_, 1));
    return;
  }
  for (int p = 0; p < places_; ++p) set_group(p);
  const int64_t length = std::max<int64_t>(r_.reduced_count_, 1);
  if (r_.mode_ == TileMode::kRow) {
    edge0_ = r_.streaming_ ? room : r_.reduced_count_;
    edge1_ = r_.streaming_ ? 1 : std::clamp<int64_t>(room / length, 1, std::max<int64_t>(axis1_, 1));
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
    for (int64_t i1 = 0; i1 < axis1_; i1 += edge1_) evaluate(std::min(edge1_, axis1_ - i1), axis0_, i1, 0);
  } else {
    for (int64_t i0 = 0; i0 < axis0_; i0 += edge0_) evaluate(axis1_, std::min(edge0_, axis0_ - i0), 0, i0);
  }
}

void RegionRun::evaluate(int64_t n1, int64_t n0, int64_t first1, int64_t first0) {
  n1_ = n1, n0_ = n0, first1_ = first1, first0_ = first0;
  if (r_.streaming_) return stream();
  for (size_t t = 0; t < r_.targets_.size(); ++t) stored_directly_[t] = false;
  for (size_t i = 0; i < r_.steps_.size(); ++i) {
    if (r_.steps_[i].reduce) reduce(i, true, true);
    else run_step(i);
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

// ---- Sources.

int64_t RegionRun::group_offset(const PlaceState& state, int64_t index) const {
  int64_t offset = 0;
  for (int g = group_dims_; g-- > 0;) {
    offset += index % group_extents_[g] * state.group[g];
    index /= group_extents_[g];
  }
  return offset;
}

void RegionRun::run_source(size_t i) {
  const RegionStep& step = r_.steps_[i];
  PlaceState& state = states_[step.source];
  if (state.general) return load_general(step, state), void(values_[i] = {slot(step), n0_, kFull});
  const RegionSource& source = place(step.source);
  const int64_t s1 = n1_ == 1 ? 0 : state.s1, s0 = n0_ == 1 ? 0 : state.s0;
  const int64_t saved = state.offset;
  state.offset += first1_ * state.s1 + first0_ * state.s0;
  uint8_t kind = static_cast<uint8_t>((s1 != 0 ? kOuter : 0) | (s0 != 0 ? kInner : 0));
  const bool expand = kind == kInner && n1_ > 1 && n0_ < kShortLane && !r_.streaming_;
  const bool compact = kind == kOuter ? s1 == 1 : (s0 == 1 || s0 == 0);
  if (source.in_place && compact && !expand && state.base && !(source.partial && lane_outside_)) {
    values_[i] = {state.base + state.offset * source.element_bytes, s1, kind};
  } else {
    if (expand) kind = kFull;
    const TileShape shape = kind == kFull    ? TileShape{n1_, n0_}
                            : kind == kOuter ? TileShape{1, n1_}
                            : kind == kInner ? TileShape{1, n0_}
                                             : TileShape{1, 1};
    load_copy(step, state, shape, s1, kind == kOuter ? s1 : s0);
    values_[i] = {slot(step), kind == kFull ? n0_ : (kind == kOuter ? 1 : 0), kind};
  }
  state.offset = saved;
}

void RegionRun::load_copy(const RegionStep& step, PlaceState& state, TileShape shape, int64_t s1, int64_t s0) {
  if (state.cached_offset == state.offset && state.cached_n1 == n1_ && state.cached_n0 == n0_) return;
  state.cached_offset = state.offset, state.cached_n1 = n1_, state.cached_n0 = n0_;
  const RegionSource& source = place(step.source);
  std::byte* to = slot(step);
  if (!state.base) return iota_tile(step.dtype, shape, state.offset, s1, s0, to);
  const std::byte* from = state.base + state.offset * source.element_bytes;
  if (source.partial && lane_outside_ && s0 != 0 && shape.n0 > 1) {
    // The lanes are the inner axis, and only the first ones exist in a plain operand.
    std::memset(to, 0, static_cast<size_t>(shape.n1 * shape.n0 * class_bytes(step.tile_class)));
    for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
      load_tile(source.dtype)({1, std::min(shape.n0, valid_lanes_ - first0_)}, from + i1 * s1 * source.element_bytes, 0,
                              s0, to + i1 * shape.n0 * class_bytes(step.tile_class));
    }
    return;
  }
  load_tile(source.dtype)(shape, from, s1, s0, to);
}

// The reduced dims do not form one stride: gathers runs along the innermost of them.
void RegionRun::load_general(const RegionStep& step, const PlaceState& state) {
  const RegionSource& source = place(step.source);
  const int64_t element = class_bytes(step.tile_class);
  std::byte* to = slot(step);
  const auto load = [&](TileShape shape, int64_t offset, int64_t s0, std::byte* dst) {
    if (!state.base) return iota_tile(step.dtype, shape, offset, 0, s0, dst);
    load_tile(source.dtype)(shape, state.base + offset * source.element_bytes, 0, s0, dst);
  };
  const int64_t run_extent = group_extents_[group_dims_ - 1], run_stride = state.group[group_dims_ - 1];
  if (r_.mode_ == TileMode::kLane) {
    const int64_t base = state.offset + first0_ * state.s0;
    const bool partial = source.partial && lane_outside_ && state.s0 != 0;
    const int64_t lanes = partial ? std::min(n0_, valid_lanes_ - first0_) : n0_;
    if (partial) std::memset(to, 0, static_cast<size_t>(n1_ * n0_ * element));
    for (int64_t i1 = 0; i1 < n1_; ++i1) {
      load({1, lanes}, base + group_offset(state, first1_ + i1), state.s0, to + i1 * n0_ * element);
    }
    return;
  }
  for (int64_t i1 = 0; i1 < n1_; ++i1) {
    const int64_t base = state.offset + (first1_ + i1) * state.s1;
    for (int64_t i = 0; i < n0_;) {
      const int64_t index = first0_ + i;
      const int64_t run = std::min(n0_ - i, run_extent - index % run_extent);
      load({1, run}, base + group_offset(state, index), run_stride, to + (i1 * n0_ + i) * element);
      i += run;
    }
  }
}

// ---- Computation.

TileArg RegionRun::argument(const TileValue& value, uint8_t kind) const {
  if (kind == kFull) return {value.data, value.kind & kOuter ? value.s1 : 0, value.kind & kInner ? 1 : 0};
  return {value.data, 0, value.kind != 0 ? 1 : 0};
}

void* RegionRun::direct_target(const RegionStep& step, uint8_t kind, int64_t& ds1) {
  if (step.direct < 0 || (r_.streaming_ && step.stage + 1 != r_.passes_)) return nullptr;
  const int p = static_cast<int>(r_.sources_.size()) + step.direct;
  const PlaceState& state = states_[p];
  if (state.general) return nullptr;
  const int64_t s1 = n1_ == 1 ? 0 : state.s1, s0 = n0_ == 1 ? 0 : state.s0;
  const uint8_t out_kind = static_cast<uint8_t>((s1 != 0 ? kOuter : 0) | (s0 != 0 ? kInner : 0));
  if (out_kind != kind || (kind & kInner ? s0 != 1 : (kind == kOuter && s1 != 1))) return nullptr;
  if (kind == kFull) ds1 = s1;
  stored_directly_[step.direct] = true;
  return state.base + (state.offset + first1_ * state.s1 + first0_ * state.s0) * place(p).element_bytes;
}

void RegionRun::compute(size_t i) {
  const RegionStep& step = r_.steps_[i];
  uint8_t kind = 0;
  for (int k = 0; k < step.arity; ++k) kind |= values_[step.args[k]].kind;
  TileShape shape{1, 1};
  if (kind == kFull) shape = {n1_, n0_};
  else if (kind != 0) shape.n0 = kind == kOuter ? n1_ : n0_;
  TileArg args[3];
  int64_t ds1 = n0_;
  void* dst = direct_target(step, kind, ds1);
  if (!dst) dst = slot(step);
  bool flat = kind == kFull && ds1 == n0_;
  for (int k = 0; k < step.arity; ++k) {
    const TileValue& value = values_[step.args[k]];
    args[k] = argument(value, kind);
    flat = flat && (value.kind == 0 || (value.kind == kFull && value.s1 == n0_));
  }
  if (flat) shape = {1, n1_ * n0_};
  if (step.select) step.select(shape, args[0], args[1], args[2], dst, ds1);
  else if (step.binary) step.binary(shape, args[0], args[1], dst, ds1);
  else step.unary(shape, args[0], dst, ds1);
  if (step.normalize) normalize_tile(step.dtype, dst, shape.n1 * shape.n0);
  values_[i] = {static_cast<std::byte*>(dst), kind == kFull ? ds1 : (kind == kOuter ? 1 : 0), kind};
}

void RegionRun::reduce(size_t i, bool first, bool last) {
  const RegionStep& step = r_.steps_[i];
  const TileValue& value = values_[step.args[0]];
  const bool row = r_.mode_ == TileMode::kRow;
  const uint8_t kept = row ? kOuter : kInner;
  const int64_t count = value.kind & kept ? (row ? n1_ : n0_) : 1;
  std::byte* accumulator = scratch_ + step.accumulator;
  if (first) step.reduce->start(accumulator, count);
  const TileShape shape = row ? TileShape{count, n0_} : TileShape{n1_, count};
  // A value with one kind bit lies contiguous along that axis, or along the outer one with stride s1.
  TileArg arg{value.data, value.kind & kOuter ? value.s1 : 0, value.kind & kInner ? 1 : 0};
  (row ? step.reduce->row : step.reduce->lane)(shape, arg, accumulator);
  if (!last) return;
  step.reduce->finish(accumulator, count, r_.reduced_count_, slot(step));
  if (step.normalize) normalize_tile(step.dtype, slot(step), count);
  values_[i] = {slot(step), row && (value.kind & kept) ? 1 : 0, static_cast<uint8_t>(value.kind & kept)};
}

// ---- Targets.

void RegionRun::store_targets() {
  for (size_t t = 0; t < r_.targets_.size(); ++t) {
    if (stored_directly_[t]) continue;
    const RegionTarget& target = r_.targets_[t];
    const PlaceState& state = states_[r_.sources_.size() + t];
    const TileValue& value = values_[target.value];
    if (state.general) {
      store_general(target, state, value);
      continue;
    }
    std::byte* to = state.base + (state.offset + first1_ * state.s1 + first0_ * state.s0) * target.place.element_bytes;
    // An axis that the output does not walk is reduced, and the value is the same all along it.
    TileShape shape{state.s1 == 0 ? 1 : n1_, state.s0 == 0 ? 1 : n0_};
    TileArg arg{value.data, value.kind & kOuter ? value.s1 : 0, value.kind & kInner ? 1 : 0};
    if (shape.n0 == 1 && (arg.s1 == 0 || arg.s1 == 1)) {
      target.store({1, shape.n1}, {arg.data, 0, arg.s1}, to, 0, state.s1);
    } else {
      target.store(shape, arg, to, state.s1, state.s0);
    }
  }
}

void RegionRun::store_general(const RegionTarget& target, const PlaceState& state, const TileValue& value) {
  const int64_t element = target.place.element_bytes;
  const int64_t bytes = class_bytes(r_.steps_[static_cast<size_t>(target.value)].tile_class);
  const int64_t s1 = value.kind & kOuter ? value.s1 : 0, s0 = value.kind & kInner ? 1 : 0;
  for (int64_t i1 = 0; i1 < n1_; ++i1) {
    if (r_.mode_ == TileMode::kLane) {
      const int64_t to = state.offset + first0_ * state.s0 + group_offset(state, first1_ + i1);
      target.store({1, n0_}, {value.data + i1 * s1 * bytes, 0, s0}, state.base + to * element, 0, state.s0);
      continue;
    }
    const int64_t run_extent = group_extents_[group_dims_ - 1], run_stride = state.group[group_dims_ - 1];
    for (int64_t i = 0; i < n0_;) {
      const int64_t index = first0_ + i;
      const int64_t run = std::min(n0_ - i, run_extent - index % run_extent);
      const int64_t to = state.offset + (first1_ + i1) * state.s1 + group_offset(state, index);
      target.store({1, run}, {value.data + (i1 * s1 + i * s0) * bytes, 0, s0}, state.base + to * element, 0, run_stride);
      i += run;
    }
  }
}

namespace {

// Lanes past the last channel of a c16 output hold zeros on every edge.
void zero_lanes(const RegionSource& place, int rank, const int64_t* begin, const int64_t* extent, std::byte* base,
                int64_t valid) {
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
    std::memset(base + offset * place.element_bytes, 0, static_cast<size_t>((to - from) * place.element_bytes));
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
                     void* const* outputs, const void* accumulator, const int64_t* accumulator_strides,
                     std::byte* scratch) const {
  const auto aligned = reinterpret_cast<std::byte*>(
      round_up(static_cast<int64_t>(reinterpret_cast<uintptr_t>(scratch)), kTensorAlignment));
  const int c = channel_dim_;
  const int64_t tail = channels_ % kLaneCount;
  const bool touches_tail = c >= 0 && tail != 0 && box_begin[c] + box_extent[c] == extents_[c] && box_extent[c] > 0;
  if (!touches_tail) {
    RegionRun(*this, aligned).run(box_begin, box_extent, inputs, outputs, accumulator, accumulator_strides, kLaneCount);
    return;
  }
  int64_t begin[kMaxRegionRank], extent[kMaxRegionRank];
  std::copy(box_begin, box_begin + rank_, begin);
  std::copy(box_extent, box_extent + rank_, extent);
  if (--extent[c] > 0) {
    RegionRun(*this, aligned).run(begin, extent, inputs, outputs, accumulator, accumulator_strides, kLaneCount);
  }
  const auto* tail_accumulator = static_cast<const std::byte*>(accumulator);
  if (accumulator) {
    tail_accumulator += extent[c] * accumulator_strides[c] * sources_[0].element_bytes;
  }
  begin[c] += extent[c];
  extent[c] = 1;
  RegionRun(*this, aligned).run(begin, extent, inputs, outputs, tail_accumulator, accumulator_strides, tail);
  for (const RegionTarget& target : targets_) {
    zero_lanes(target.place, rank_, begin, extent, static_cast<std::byte*>(outputs[target.place.operand]), tail);
  }
}

}  // namespace stoker::cpu
