// The making of a bound region; one object per bind(). Private to the region folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/region/bound_region.h"

namespace stoker::cpu {

class RegionBinder {
 public:
  RegionBinder(const RegionProgram& program, std::span<const int64_t> extents,
               std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs,
               DType accumulator)
      : program_(program),
        extents_(extents),
        inputs_(inputs),
        outputs_(outputs),
        accumulator_(accumulator),
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
  Status find_channel_dim(const RegionOperand& map, const TensorDesc& desc, const char* what,
                          size_t index);
  Result<RegionSource> place(const RegionOperand& map, const TensorDesc& desc, const char* what,
                             size_t index) const;
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
  std::vector<int32_t> step_of_;    // per instruction
  std::vector<int32_t> source_of_;  // per program input
};

}  // namespace stoker::cpu
