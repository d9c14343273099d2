// One tile of a region: loading the sources, evaluating the steps, storing the targets.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/cpu/region/region_run.h"

namespace stoker::cpu {

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

void RegionRun::load_copy(const RegionStep& step, PlaceState& state, TileShape shape, int64_t s1,
                          int64_t s0) {
  if (state.cached_offset == state.offset && state.cached_n1 == n1_ && state.cached_n0 == n0_)
    return;
  state.cached_offset = state.offset, state.cached_n1 = n1_, state.cached_n0 = n0_;
  const RegionSource& source = place(step.source);
  std::byte* to = slot(step);
  if (!state.base) return iota_tile(step.dtype, shape, state.offset, s1, s0, to);
  const std::byte* from = state.base + state.offset * source.element_bytes;
  if (source.partial && lane_outside_ && s0 != 0 && shape.n0 > 1) {
    // The lanes are the inner axis, and only the first ones exist in a plain operand.
    std::memset(to, 0, static_cast<size_t>(shape.n1 * shape.n0 * class_bytes(step.tile_class)));
    for (int64_t i1 = 0; i1 < shape.n1; ++i1) {
      load_tile(source.dtype)({1, std::min(shape.n0, valid_lanes_ - first0_)},
                              from + i1 * s1 * source.element_bytes, 0, s0,
                              to + i1 * shape.n0 * class_bytes(step.tile_class));
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
  const int64_t run_extent = group_extents_[group_dims_ - 1],
                run_stride = state.group[group_dims_ - 1];
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
  if (kind == kFull)
    return {value.data, value.kind & kOuter ? value.s1 : 0, value.kind & kInner ? 1 : 0};
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
  return state.base +
         (state.offset + first1_ * state.s1 + first0_ * state.s0) * place(p).element_bytes;
}

void RegionRun::compute(size_t i) {
  const RegionStep& step = r_.steps_[i];
  uint8_t kind = 0;
  for (int k = 0; k < step.arity; ++k) kind |= values_[step.args[k]].kind;
  TileShape shape{1, 1};
  if (kind == kFull)
    shape = {n1_, n0_};
  else if (kind != 0)
    shape.n0 = kind == kOuter ? n1_ : n0_;
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
  if (step.select)
    step.select(shape, args[0], args[1], args[2], dst, ds1);
  else if (step.binary)
    step.binary(shape, args[0], args[1], dst, ds1);
  else
    step.unary(shape, args[0], dst, ds1);
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
  // A value with one kind bit lies contiguous along that axis, or along the outer one with stride
  // s1.
  TileArg arg{value.data, value.kind & kOuter ? value.s1 : 0, value.kind & kInner ? 1 : 0};
  (row ? step.reduce->row : step.reduce->lane)(shape, arg, accumulator);
  if (!last) return;
  step.reduce->finish(accumulator, count, r_.reduced_count_, slot(step));
  if (step.normalize) normalize_tile(step.dtype, slot(step), count);
  values_[i] = {slot(step), row && (value.kind & kept) ? 1 : 0,
                static_cast<uint8_t>(value.kind & kept)};
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
    std::byte* to = state.base + (state.offset + first1_ * state.s1 + first0_ * state.s0) *
                                     target.place.element_bytes;
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

void RegionRun::store_general(const RegionTarget& target, const PlaceState& state,
                              const TileValue& value) {
  const int64_t element = target.place.element_bytes;
  const int64_t bytes = class_bytes(r_.steps_[static_cast<size_t>(target.value)].tile_class);
  const int64_t s1 = value.kind & kOuter ? value.s1 : 0, s0 = value.kind & kInner ? 1 : 0;
  for (int64_t i1 = 0; i1 < n1_; ++i1) {
    if (r_.mode_ == TileMode::kLane) {
      const int64_t to = state.offset + first0_ * state.s0 + group_offset(state, first1_ + i1);
      target.store({1, n0_}, {value.data + i1 * s1 * bytes, 0, s0}, state.base + to * element, 0,
                   state.s0);
      continue;
    }
    const int64_t run_extent = group_extents_[group_dims_ - 1],
                  run_stride = state.group[group_dims_ - 1];
    for (int64_t i = 0; i < n0_;) {
      const int64_t index = first0_ + i;
      const int64_t run = std::min(n0_ - i, run_extent - index % run_extent);
      const int64_t to = state.offset + (first1_ + i1) * state.s1 + group_offset(state, index);
      target.store({1, run}, {value.data + (i1 * s1 + i * s0) * bytes, 0, s0},
                   state.base + to * element, 0, run_stride);
      i += run;
    }
  }
}

}  // namespace stoker::cpu
