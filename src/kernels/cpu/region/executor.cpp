// Binding of region programs: from logical dims to physical strides, from instructions to steps with
// their tile functions, and the choice of tile shape and scratch slots.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/region/executor.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "kernels/cpu/region/bound_region.h"

namespace stoker::cpu {

class RegionBinder {
 public:
  RegionBinder(const RegionProgram& program, std::span<const int64_t> extents, std::span<const TensorDesc> inputs,
               std::span<const TensorDesc> outputs, DType accumulator)
      : program_(program), extents_(extents), inputs_(inputs), outputs_(outputs), accumulator_(accumulator),
        region_(new TileRegion) {}

  Result<std::shared_ptr<const BoundRegion>> bind() {
    STOKER_TRY(check());
    STOKER_TRY(choose_space());
    STOKER_TRY(make_steps());
    STOKER_TRY(make_targets());
    drop_dead_steps();
    analyse();
    choose_tiles();
    assign_scratch();
    return std::shared_ptr<const BoundRegion>(region_);
  }

 private:
  Status check() const;
  Status choose_space();
  Status find_channel_dim(const RegionOperand& map, const TensorDesc& desc, const char* what, size_t index);
  Result<RegionSource> place(const RegionOperand& map, const TensorDesc& desc, const char* what, size_t index) const;
  Status make_steps();
  Status make_targets();
  int32_t add_cast(int32_t value, DType to);
  Status add_instruction(const RegionInstruction& instruction);
  void drop_dead_steps();
  void analyse();
  void choose_tiles();
  void assign_scratch();
  bool channel_split() const { return region_->channel_dim_ >= 0; }
  TensorDesc input_desc(size_t k) const {
    if (k > 0 || accumulator_ == DType::kInvalid) return inputs_[k];
    TensorDesc desc;  // the accumulator: strides come with each run
    desc.dtype = accumulator_;
    desc.dims.assign(extents_.begin(), extents_.end());
    return desc;
  }

  const RegionProgram& program_;
  std::span<const int64_t> extents_;
  std::span<const TensorDesc> inputs_, outputs_;
  DType accumulator_;
  std::shared_ptr<TileRegion> region_;
  std::vector<int32_t> step_of_;       // per instruction
  std::vector<int32_t> source_of_;     // per program input
};

Status RegionBinder::check() const {
  if (extents_.size() != static_cast<size_t>(program_.rank)) {
    return invalid_argument("region: {} extents for {} iteration dims", extents_.size(), program_.rank);
  }
  const size_t given = inputs_.size() + (accumulator_ != DType::kInvalid && inputs_.empty() ? 1 : 0);
  if (given < program_.inputs.size() || outputs_.size() != program_.outputs.size()) {
    return invalid_argument("region: {} inputs and {} outputs given, the program has {} and {}", given,
                            outputs_.size(), program_.inputs.size(), program_.outputs.size());
  }
  std::vector<int> ranks;
  for (size_t k = 0; k < program_.inputs.size(); ++k) ranks.push_back(input_desc(k).rank());
  for (const TensorDesc& output : outputs_) ranks.push_back(output.rank());
  const std::string text = check_region(program_, ranks);
  if (!text.empty()) return invalid_argument("region: {}", text);
  for (size_t k = 0; k < program_.inputs.size(); ++k) {
    const DType dtype = input_desc(k).dtype;
    if (!is_tile_dtype(dtype)) {
      return unsupported("region: input {} has dtype {}, which tiles cannot load", k, dtype_name(dtype));
    }
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    if (!is_tile_dtype(outputs_[k].dtype)) {
      return unsupported("region: output {} has dtype {}, which tiles cannot store", k, dtype_name(outputs_[k].dtype));
    }
  }
  return Status::ok();
}

Status RegionBinder::find_channel_dim(const RegionOperand& map, const TensorDesc& desc, const char* what, size_t index) {
  if (desc.layout != Layout::kC16 || desc.rank() < 2) return Status::ok();
  for (int d = 0; d < program_.rank; ++d) {
    if (map.dim_of[static_cast<size_t>(d)] != 1) continue;
    if (desc.dims[1] == 1 && extents_[static_cast<size_t>(d)] != 1) return Status::ok();  // broadcast
    if (channel_split() && region_->channel_dim_ != d) {
      return unsupported("region: {} {} in layout c16 has its channels at iteration dim {}, others at {}", what, index,
                         d, region_->channel_dim_);
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
  if (r.reduced_[c]) return unsupported("region: a reduction over the channels needs the plain layout");
  r.channels_ = r.extents_[c];
  r.extents_[c] = (r.channels_ + kLaneCount - 1) / kLaneCount;
  r.extents_[program_.rank] = kLaneCount;
  r.reduced_[program_.rank] = false;
  return Status::ok();
}

Result<RegionSource> RegionBinder::place(const RegionOperand& map, const TensorDesc& desc, const char* what,
                                         size_t index) const {
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
    const int64_t extent = c16 && d == 1 ? (desc.dims[1] + kLaneCount - 1) / kLaneCount : desc.dims[d];
    next *= std::max<int64_t>(extent, 1);  // strides of empty operands stay apart from broadcasts
  }
  uint64_t walked = 0;
  for (int d = 0; d < program_.rank; ++d) {
    const int dim = map.dim_of[static_cast<size_t>(d)];
    if (dim < 0) continue;
    walked |= uint64_t{1} << dim;
    const int64_t extent = desc.dims[static_cast<size_t>(dim)], wanted = extents_[static_cast<size_t>(d)];
    if (extent != wanted && extent != 1) {
      return invalid_argument("region: {} {} has extent {} along iteration dim {}, which has {}", what, index, extent,
                              d, wanted);
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
      return unsupported("region: {} {} in layout c16 has its channels at iteration dim {}", what, index, d);
    }
  }
  for (size_t dim = 0; dim < desc.dims.size(); ++dim) {
    if (!(walked >> dim & 1) && desc.dims[dim] != 1) {
      return invalid_argument("region: {} {} has extent {} at dim {}, which no iteration dim walks", what, index,
                              desc.dims[dim], dim);
    }
  }
  return source;
}

Status RegionBinder::make_steps() {
  for (size_t k = 0; k < program_.inputs.size(); ++k) {
    STOKER_ASSIGN(RegionSource source, place(program_.inputs[k], input_desc(k), "input", k));
    if (k == 0 && accumulator_ != DType::kInvalid) {
      source.accumulator = true;
      source.partial = false;
    }
    source_of_.push_back(static_cast<int32_t>(region_->sources_.size()));
    region_->sources_.push_back(source);
  }
  for (const RegionInstruction& instruction : program_.instructions) STOKER_TRY(add_instruction(instruction));
  return Status::ok();
}

int32_t RegionBinder::add_cast(int32_t value, DType to) {
  const DType from = region_->steps_[static_cast<size_t>(value)].dtype;
  if (from == to) return value;
  RegionStep step;
  step.op = RegionOp::kCast;
  step.dtype = to;
  step.tile_class = tile_class(to);
  step.args[0] = value;
  step.arity = 1;
  step.unary = cast_tile(from, to);
  region_->steps_.push_back(step);
  return static_cast<int32_t>(region_->steps_.size()) - 1;
}

Status RegionBinder::add_instruction(const RegionInstruction& instruction) {
  auto& steps = region_->steps_;
  RegionStep step;
  step.op = instruction.op;
  step.dtype = instruction.dtype;
  step.arity = region_op_arity(instruction.op);
  for (int k = 0; k < step.arity; ++k) {
    step.args[k] = step_of_[static_cast<size_t>(instruction.args[static_cast<size_t>(k)])];
  }
  if (step.op == RegionOp::kCast) {
    step_of_.push_back(add_cast(step.args[0], instruction.dtype));
    return Status::ok();
  }
  if (step.op == RegionOp::kInput) {
    step.source = source_of_[static_cast<size_t>(instruction.args[0])];
    step.dtype = region_->sources_[static_cast<size_t>(step.source)].dtype;
  } else if (step.op == RegionOp::kIota) {
    RegionSource source;
    source.dtype = instruction.dtype;
    const int d = instruction.args[0];
    const bool split = channel_split() && d == region_->channel_dim_;
    source.strides[d] = split ? kLaneCount : 1;
    if (split) source.strides[program_.rank] = 1;
    step.source = static_cast<int32_t>(region_->sources_.size());
    region_->sources_.push_back(source);
  } else if (step.op == RegionOp::kConstant) {
    constant_tile(step.dtype, instruction.constant, step.constant);
  } else {
    const DType argument = steps[static_cast<size_t>(step.args[step.op == RegionOp::kSelect ? 1 : 0])].dtype;
    const bool exact = step.op == RegionOp::kMin || step.op == RegionOp::kMax || step.op == RegionOp::kSelect;
    step.normalize = needs_normalize(step.dtype) && !exact;
    if (is_reduction(step.op)) step.reduce = reduce_tile(step.op, argument);
    else if (step.op == RegionOp::kSelect) step.select = select_tile(tile_class(argument));
    else if (step.arity == 2) step.binary = binary_tile(step.op, argument);
    else step.unary = unary_tile(step.op, argument);
    if (!step.reduce && !step.select && !step.binary && !step.unary) {
      return unsupported("region: no tile function for {} on {}", region_op_name(step.op), dtype_name(argument));
    }
  }
  step.tile_class = tile_class(step.dtype);
  steps.push_back(step);
  step_of_.push_back(static_cast<int32_t>(steps.size()) - 1);
  if (step.op == RegionOp::kInput) step_of_.back() = add_cast(step_of_.back(), instruction.dtype);
  return Status::ok();
}

Status RegionBinder::make_targets() {
  TileRegion& r = *region_;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    RegionTarget target;
    STOKER_ASSIGN(target.place, place(program_.outputs[k].map, outputs_[k], "output", k));
    target.store = store_tile(outputs_[k].dtype);
    target.value = add_cast(step_of_[static_cast<size_t>(program_.outputs[k].value)], outputs_[k].dtype);
    const bool c16 = outputs_[k].layout == Layout::kC16 && outputs_[k].rank() >= 2;
    if (channel_split() && !c16) {
      return unsupported("region: output {} is plain, other outputs are in layout c16", k);
    }
    for (int d = 0; d < r.rank_; ++d) {
      if (r.extents_[d] > 1 && target.place.strides[d] == 0 && !r.reduced_[d]) {
        return invalid_argument("region: output {} does not walk along dim {} of extent {}", k, d, r.extents_[d]);
      }
    }
    r.targets_.push_back(target);
  }
  // Outputs that are inputs as they stand go first: another output may take that input's buffer.
  std::stable_sort(r.targets_.begin(), r.targets_.end(), [&](const RegionTarget& a, const RegionTarget& b) {
    const auto copied = [&](const RegionTarget& t) {
      return r.steps_[static_cast<size_t>(t.value)].op == RegionOp::kInput;
    };
    return copied(a) && !copied(b);
  });
  return Status::ok();
}

void RegionBinder::drop_dead_steps() {
  auto& steps = region_->steps_;
  std::vector<bool> live(steps.size(), false);
  for (const RegionTarget& target : region_->targets_) live[static_cast<size_t>(target.value)] = true;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (int k = 0; k < steps[i].arity; ++k) live[static_cast<size_t>(steps[i].args[k])] = true;
  }
  std::vector<int32_t> moved(steps.size(), -1);
  size_t kept = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!live[i]) continue;
    moved[i] = static_cast<int32_t>(kept);
    for (int k = 0; k < steps[i].arity; ++k) steps[i].args[k] = moved[static_cast<size_t>(steps[i].args[k])];
    if (kept != i) steps[kept] = steps[i];
    ++kept;
  }
  steps.resize(kept);
  for (RegionTarget& target : region_->targets_) target.value = moved[static_cast<size_t>(target.value)];
}

void RegionBinder::analyse() {
  TileRegion& r = *region_;
  for (RegionStep& step : r.steps_) {
    for (int k = 0; k < step.arity; ++k) {
      const RegionStep& arg = r.steps_[static_cast<size_t>(step.args[k])];
      step.varies = step.varies || arg.varies;
      step.stage = std::max(step.stage, arg.stage);
    }
    if (step.source >= 0) {
      for (int d = 0; d < r.rank_; ++d) {
        const bool walks = r.sources_[static_cast<size_t>(step.source)].strides[d] != 0;
        step.varies = step.varies || (r.reduced_[d] && r.extents_[d] != 1 && walks);
      }
    }
    if (step.reduce) {
      step.varies = false;
      ++step.stage;
    }
    r.passes_ = std::max(r.passes_, step.stage + 1);
  }
  // A result may go straight to its output when no later step reads an input where it lies: the
  // output may have taken an input's buffer.
  size_t last_reader = 0;
  for (size_t i = 0; i < r.steps_.size(); ++i) {
    for (int k = 0; k < r.steps_[i].arity; ++k) {
      if (r.steps_[static_cast<size_t>(r.steps_[i].args[k])].op == RegionOp::kInput) last_reader = i;
    }
  }
  for (size_t t = 0; t < r.targets_.size(); ++t) {
    RegionStep& step = r.steps_[static_cast<size_t>(r.targets_[t].value)];
    const bool copied = r.steps_[static_cast<size_t>(r.targets_[0].value)].op == RegionOp::kInput;
    const bool computed = step.arity > 0 && !step.reduce && !step.normalize;
    if (!copied && computed && static_cast<size_t>(r.targets_[t].value) >= last_reader &&
        r.targets_[t].place.in_place && step.direct < 0) {
      step.direct = static_cast<int32_t>(t);
    }
  }
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
  const int64_t lanes = r.mode_ == TileMode::kRow ? 1 : std::min<int64_t>(r.extents_[inner], kLaneCount);
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
    for (int k = 0; k < r.steps_[i].arity; ++k) last_use[static_cast<size_t>(r.steps_[i].args[k])] = i;
  }
  for (const RegionTarget& target : r.targets_) {
    last_use[static_cast<size_t>(target.value)] = r.steps_.size();
    r.steps_[static_cast<size_t>(target.value)].used_later = true;
  }
  // Reuse by liveness, unless passes over a row need values to stay. Loaded inputs keep their slots,
  // since a tile of a broadcast operand is loaded once for many tiles.
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
                                                             std::span<const TensorDesc> outputs, DType accumulator) {
  if (!program.empty()) return RegionBinder(program, extents, inputs, outputs, accumulator).bind();
  if (accumulator == DType::kInvalid || outputs.size() != 1) {
    return Status(invalid_argument("region: an empty program stores one accumulator; {} outputs are given", outputs.size()));
  }
  if (extents.size() > kMaxRegionRank - 1) {
    return Status(unsupported("region: {} dims; at most {} are possible", extents.size(), kMaxRegionRank - 1));
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
