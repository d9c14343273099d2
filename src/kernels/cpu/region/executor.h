// The CPU tile executor of region programs: vectorised operations over tiles that stay in L1. Runs
// regions of their own (region/region_tile.cpp) and the epilogues of gemm and conv.
//
// The iteration space is physical: for a kC16 output [N, ceil(C/16), spatial..., 16], otherwise the
// logical dims. All operands of one region share the layout, except those that are constant, or
// that broadcast over every dim but the channel, or all of whose mapped extents are 1: these may be
// plain.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "base/status.h"
#include "kernels/desc/region.h"
#include "kernels/desc/tensor_desc.h"

namespace stoker::cpu {

inline constexpr int kMaxRegionRank = 9;

// A program with its strides for one bound shape. Immutable; shared by threads.
class BoundRegion {
 public:
  // `extents`: logical iteration extents. `accumulator`: dtype of input 0 when it is the
  // accumulator of a gemm or conv (then `inputs[0]` is ignored), kInvalid otherwise.
  static Result<std::shared_ptr<const BoundRegion>> bind(const RegionProgram& program,
                                                         std::span<const int64_t> extents,
                                                         std::span<const TensorDesc> inputs,
                                                         std::span<const TensorDesc> outputs,
                                                         DType accumulator = DType::kInvalid);
  virtual ~BoundRegion() = default;

  // The physical dims and their extents.
  int rank() const { return rank_; }
  std::span<const int64_t> extents() const { return {extents_, static_cast<size_t>(rank_)}; }
  // Per worker, for run().
  int64_t scratch_bytes() const { return scratch_bytes_; }

  // Evaluates a box of the physical space. A program with reductions needs boxes that span the
  // reduced dims whole. `accumulator`: element at the box's first point; `accumulator_strides` in
  // elements, one per physical dim. `inputs`/`outputs`: base pointers of the whole operands.
  // Lanes past the last channel of a kC16 output are stored as zeros.
  virtual void run(const int64_t* box_begin, const int64_t* box_extent, const void* const* inputs,
                   void* const* outputs, const void* accumulator,
                   const int64_t* accumulator_strides, std::byte* scratch) const = 0;

 protected:
  int rank_ = 0;
  int64_t extents_[kMaxRegionRank] = {};
  int64_t scratch_bytes_ = 0;
};

}  // namespace stoker::cpu
