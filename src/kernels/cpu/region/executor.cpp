// Binding of region programs: from logical dims to physical strides, from instructions to steps
// with their tile functions, and the choice of tile shape and scratch slots.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/region/executor.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "kernels/cpu/region/region_binder.h"

namespace stoker::cpu {

Status RegionBinder::check() const {
  if (extents_.size() != static_cast<size_t>(program_.rank)) {
    return invalid_argument("region: {} extents for {} iteration dims", extents_.size(),
                            program_.rank);
  }
  const size_t given =
      inputs_.size() + (accumulator_ != DType::kInvalid && inputs_.empty() ? 1 : 0);
  if (given < program_.inputs.size() || outputs_.size() != program_.outputs.size()) {
    return invalid_argument("region: {} inputs and {} outputs given, the program has {} and {}",
                            given, outputs_.size(), program_.inputs.size(),
                            program_.outputs.size());
  }
  std::vector<int> ranks;
  for (size_t k = 0; k < program_.inputs.size(); ++k) ranks.push_back(input_desc(k).rank());
  for (const TensorDesc& output : outputs_) ranks.push_back(output.rank());
  const std::string text = check_region(program_, ranks);
  if (!text.empty()) return invalid_argument("region: {}", text);
  for (size_t k = 0; k < program_.inputs.size(); ++k) {
    const DType dtype = input_desc(k).dtype;
    if (!is_tile_dtype(dtype)) {
      return unsupported("region: input {} has dtype {}, which tiles cannot load", k,
                         dtype_name(dtype));
    }
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    if (!is_tile_dtype(outputs_[k].dtype)) {
      return unsupported("region: output {} has dtype {}, which tiles cannot store", k,
                         dtype_name(outputs_[k].dtype));
    }
  }
  return Status::ok();
}

Status RegionBinder::find_channel_dim(const RegionOperand& map, const TensorDesc& desc,
                                      const char* what, size_t index) {
  if (desc.layout != Layout::kC16 || desc.rank() < 2) return Status::ok();
  for (int d = 0; d < program_.rank; ++d) {
    if (map.dim_of[static_cast<size_t>(d)] != 1) continue;
    if (desc.dims[1] == 1 && extents_[static_cast<size_t>(d)] != 1)
      return Status::ok();  // broadcast
    if (channel_split() && region_->channel_dim_ != d) {
      return unsupported(
          "region: {} {} in layout c16 has its channels at iteration dim {}, others at {}", what,
          index, d, region_->channel_dim_);
    }
    region_->channel_dim_ = d;
  }
  return Status::ok();
}

Status RegionBinder::choose_space() {
  TileRegion& r = *region_;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    STOKER_TRY(find_channel_dim(program_.outputs[k].map, outputs_[k], "output", k));
  }
  const bool outputs_split = channel_split();
  for (size_t k = 0; k < program_.inputs.size(); ++k) {
    if (k == 0 && accumulator_ != DType::kInvalid) continue;
    STOKER_TRY(find_channel_dim(program_.inputs[k], inputs_[k], "input", k));
  }
  if (channel_split() && !outputs_split) {
    return unsupported("region: inputs are in layout c16, the outputs are plain");
  }
  r.rank_ = program_.rank + (channel_split() ? 1 : 0);
  for (int d = 0; d < program_.rank; ++d) {
    r.extents_[d] = extents_[static_cast<size_t>(d)];
    r.reduced_[d] = program_.has_reduction() && program_.reduced[static_cast<size_t>(d)] != 0;
  }
  if (!channel_split()) return Status::ok();
  const int c = r.channel_dim_;
  if (r.reduced_[c])
    return unsupported("region: a reduction over the channels needs the plain layout");
  r.channels_ = r.extents_[c];
  r.extents_[c] = (r.channels_ + kLaneCount - 1) / kLaneCount;
  r.extents_[program_.rank] = kLaneCount;
  r.reduced_[program_.rank] = false;
  return Status::ok();
}

Result<RegionSource> RegionBinder::place(const RegionOperand& map, const TensorDesc& desc,
                                         const char* what, size_t index) const {
  const TileRegion& r = *region_;
  RegionSource source;
  source.dtype = desc.dtype;
  source.operand = static_cast<int32_t>(index);
  source.element_bytes = dtype_bits(desc.dtype) / 8;
  source.in_place = !needs_normalize(desc.dtype) && desc.dtype != DType::kBool;
  const bool c16 = desc.layout == Layout::kC16 && desc.rank() >= 2;
  std::vector<int64_t> strides(desc.dims.size());
  int64_t next = c16 ? kLaneCount : 1;
  for (size_t d = desc.dims.size(); d-- > 0;) {
    strides[d] = next;
    const int64_t extent =
        c16 && d == 1 ? (desc.dims[1] + kLaneCount - 1) / kLaneCount : desc.dims[d];
    next *= std::max<int64_t>(extent, 1);  // strides of empty operands stay apart from broadcasts
  }
  uint64_t walked = 0;
  for (int d = 0; d < program_.rank; ++d) {
    const int dim = map.dim_of[static_cast<size_t>(d)];
    if (dim < 0) continue;
    walked |= uint64_t{1} << dim;
    const int64_t extent = desc.dims[static_cast<size_t>(dim)],
                  wanted = extents_[static_cast<size_t>(d)];
    if (extent != wanted && extent != 1) {
      return invalid_argument("region: {} {} has extent {} along iteration dim {}, which has {}",
                              what, index, extent, d, wanted);
    }
    const bool split = channel_split() && d == r.channel_dim_;
    if (extent == 1 && !(split && c16 && dim == 1)) continue;
    if (extent == 1 && wanted != 1) continue;
    const int64_t stride = strides[static_cast<size_t>(dim)];
    if (!split) {
      source.strides[d] = stride;
    } else if (c16) {
      source.strides[d] = stride;
      source.strides[program_.rank] = 1;
    } else {
      source.strides[d] = stride * kLaneCount;
      source.strides[program_.rank] = stride;
      source.partial = r.channels_ % kLaneCount != 0;
    }
    if (c16 && dim == 1 && !split) {
      return unsupported("region: {} {} in layout c16 has its channels at iteration dim {}", what,
                         index, d);
    }
  }
  for (size_t dim = 0; dim < desc.dims.size(); ++dim) {
    if (!(walked >> dim & 1) && desc.dims[dim] != 1) {
      return invalid_argument("region: {} {} has extent {} at dim {}, which no iteration dim walks",
                              what, index, desc.dims[dim], dim);
    }
  }
  return source;
}

void RegionBinder::choose_tiles() {
  TileRegion& r = *region_;
  r.tile_elements_ = kPointwiseTile;
  if (!program_.has_reduction()) return;
  int inner = r.rank_ - 1;
  while (inner >= 0 && r.extents_[inner] == 1) --inner;
  r.mode_ = inner < 0 || r.reduced_[inner] ? TileMode::kRow : TileMode::kLane;
  r.reduced_count_ = 1;
  for (int d = 0; d < r.rank_; ++d) {
    if (r.reduced_[d]) r.reduced_count_ *= r.extents_[d];
  }
  // An empty region has nothing to do, but its tile is still laid out.
  const int64_t lanes =
      r.mode_ == TileMode::kRow ? 1 : std::clamp<int64_t>(r.extents_[inner], 1, kLaneCount);
  r.streaming_ = r.reduced_count_ > kLongestRow / lanes;
  r.tile_elements_ = r.streaming_ ? kReduceTile : std::max(kReduceTile, r.reduced_count_ * lanes);
}

void RegionBinder::assign_scratch() {
  TileRegion& r = *region_;
  int64_t bytes = 0;
  const auto take = [&](int64_t wanted) {
    const int64_t at = bytes;
    bytes += round_up(wanted, kTensorAlignment);
    return at;
  };
  take(static_cast<int64_t>((r.sources_.size() + r.targets_.size()) * sizeof(PlaceState)));
  r.states_bytes_ = bytes;
  take(static_cast<int64_t>(r.steps_.size() * sizeof(TileValue)));
  std::vector<size_t> last_use(r.steps_.size(), 0);
  for (size_t i = 0; i < r.steps_.size(); ++i) {
    for (int k = 0; k < r.steps_[i].arity; ++k)
      last_use[static_cast<size_t>(r.steps_[i].args[k])] = i;
  }
  for (const RegionTarget& target : r.targets_) {
    last_use[static_cast<size_t>(target.value)] = r.steps_.size();
    r.steps_[static_cast<size_t>(target.value)].used_later = true;
  }
  // Reuse by liveness, unless passes over a row need values to stay. Loaded inputs keep their
  // slots, since a tile of a broadcast operand is loaded once for many tiles.
  std::vector<int64_t> free_slots[2];
  const int64_t slack = kTensorAlignment;
  for (size_t i = 0; i < r.steps_.size(); ++i) {
    RegionStep& step = r.steps_[i];
    if (step.op == RegionOp::kConstant) continue;
    const int64_t element = class_bytes(step.tile_class);
    auto& pool = free_slots[element == 8];
    const bool shared = !r.streaming_ && step.source < 0;
    if (shared && !pool.empty()) {
      step.slot = pool.back();
      pool.pop_back();
    } else {
      step.slot = take(r.tile_elements_ * element + slack);
    }
    if (step.reduce) step.accumulator = take(r.tile_elements_ * 8);
    for (size_t j = 0; !r.streaming_ && j <= i; ++j) {
      const RegionStep& old = r.steps_[j];
      if (last_use[j] != i || old.source >= 0 || old.op == RegionOp::kConstant) continue;
      free_slots[class_bytes(old.tile_class) == 8].push_back(old.slot);
    }
  }
  r.scratch_bytes_ = bytes + kTensorAlignment;
}

Result<std::shared_ptr<const BoundRegion>> BoundRegion::bind(const RegionProgram& program,
                                                             std::span<const int64_t> extents,
                                                             std::span<const TensorDesc> inputs,
                                                             std::span<const TensorDesc> outputs,
                                                             DType accumulator) {
  if (!program.empty()) return RegionBinder(program, extents, inputs, outputs, accumulator).bind();
  if (accumulator == DType::kInvalid || outputs.size() != 1) {
    return Status(invalid_argument(
        "region: an empty program stores one accumulator; {} outputs are given", outputs.size()));
  }
  if (extents.size() > kMaxRegionRank - 1) {
    return Status(unsupported("region: {} dims; at most {} are possible", extents.size(),
                              kMaxRegionRank - 1));
  }
  RegionProgram store;
  store.rank = static_cast<int32_t>(extents.size());
  store.reduced.assign(extents.size(), 0);
  RegionOperand identity;
  for (size_t d = 0; d < extents.size(); ++d) identity.dim_of.push_back(static_cast<int8_t>(d));
  store.inputs = {identity};
  RegionInstruction input;
  input.op = RegionOp::kInput;
  input.dtype = accumulator;
  input.args[0] = 0;
  store.instructions = {input};
  store.outputs = {{0, identity}};
  return RegionBinder(store, extents, inputs, outputs, accumulator).bind();
}

}  // namespace stoker::cpu
