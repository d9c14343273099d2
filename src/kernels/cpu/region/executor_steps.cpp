// Binding of region programs: from instructions to steps with their tile functions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cpu/region/region_binder.h"

namespace stoker::cpu {

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
  for (const RegionInstruction& instruction : program_.instructions)
    STOKER_TRY(add_instruction(instruction));
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
    const DType argument =
        steps[static_cast<size_t>(step.args[step.op == RegionOp::kSelect ? 1 : 0])].dtype;
    const bool exact =
        step.op == RegionOp::kMin || step.op == RegionOp::kMax || step.op == RegionOp::kSelect;
    step.normalize = needs_normalize(step.dtype) && !exact;
    if (is_reduction(step.op))
      step.reduce = reduce_tile(step.op, argument);
    else if (step.op == RegionOp::kSelect)
      step.select = select_tile(tile_class(argument));
    else if (step.arity == 2)
      step.binary = binary_tile(step.op, argument);
    else
      step.unary = unary_tile(step.op, argument);
    if (!step.reduce && !step.select && !step.binary && !step.unary) {
      return unsupported("region: no tile function for {} on {}", region_op_name(step.op),
                         dtype_name(argument));
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
    target.value =
        add_cast(step_of_[static_cast<size_t>(program_.outputs[k].value)], outputs_[k].dtype);
    const bool c16 = outputs_[k].layout == Layout::kC16 && outputs_[k].rank() >= 2;
    if (channel_split() && !c16) {
      return unsupported("region: output {} is plain, other outputs are in layout c16", k);
    }
    for (int d = 0; d < r.rank_; ++d) {
      if (r.extents_[d] > 1 && target.place.strides[d] == 0 && !r.reduced_[d]) {
        return invalid_argument("region: output {} does not walk along dim {} of extent {}", k, d,
                                r.extents_[d]);
      }
    }
    r.targets_.push_back(target);
  }
  // Outputs that are inputs as they stand go first: another output may take that input's buffer.
  std::stable_sort(r.targets_.begin(), r.targets_.end(),
                   [&](const RegionTarget& a, const RegionTarget& b) {
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
  for (const RegionTarget& target : region_->targets_)
    live[static_cast<size_t>(target.value)] = true;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (int k = 0; k < steps[i].arity; ++k) live[static_cast<size_t>(steps[i].args[k])] = true;
  }
  std::vector<int32_t> moved(steps.size(), -1);
  size_t kept = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!live[i]) continue;
    moved[i] = static_cast<int32_t>(kept);
    for (int k = 0; k < steps[i].arity; ++k)
      steps[i].args[k] = moved[static_cast<size_t>(steps[i].args[k])];
    if (kept != i) steps[kept] = steps[i];
    ++kept;
  }
  steps.resize(kept);
  for (RegionTarget& target : region_->targets_)
    target.value = moved[static_cast<size_t>(target.value)];
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
      if (r.steps_[static_cast<size_t>(r.steps_[i].args[k])].op == RegionOp::kInput)
        last_reader = i;
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

}  // namespace stoker::cpu
