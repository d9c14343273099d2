// The epilogue of a gemm or conv bound to one shape: fused into the tile's store when it is a chain
// of additions, scales, clamps and a final rounding, otherwise run by the region executor over a
// block.
//
//   fused f32:   acc -> {add, sub, mul, div, max, min with a constant, a channel vector or a
//   tensor}* fused 8 bit: i32 acc [+ i32 bias] -> f32 -> {...}* -> round_even [+ zero] -> clamp ->
//   u8 or i8
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kernels/cpu/region/executor.h"
#include "kernels/cpu/simd.h"
#include "kernels/desc/desc.h"

namespace stoker::cpu {

// What the epilogue of a desc is bound to.
struct EpilogueSite {
  const RegionProgram* program = nullptr;
  const Desc* desc = nullptr;
  DType accumulator = DType::kF32;
  int channel_dim = 1;            // iteration dim of per-channel operands
  bool channels_in_rows = false;  // channels run along the tile's rows, not its columns
};

// Where a tile lies in the output. Element (row, panel, lane) is at offset + row * row_stride +
// panel * panel_stride + lane.
struct TilePlace {
  int64_t offset = 0;
  int64_t row_stride = 0, panel_stride = 0;
  int64_t channel = 0;     // of row 0 and lane 0
  int64_t lanes = 0;       // valid lanes from panel 0 on
  bool zero_tail = false;  // lanes past them exist and are stored as zeros
};

// A tile of accumulators, f32 or i32; overwritten by finish().
struct TileValues {
  void* data = nullptr;
  int64_t row = 0, panel = 0;  // strides in elements
  int rows = 0, panels = 0;
  const int32_t* add = nullptr;  // per lane, added to i32 accumulators first; may be null
};

class Epilogue {
 public:
  // Fails when neither form can run the program.
  static Result<Epilogue> make(const EpilogueSite& site);

  bool fused() const { return region_ == nullptr; }
  const BoundRegion& region() const { return *region_; }
  int64_t scratch_bytes() const { return region_ ? region_->scratch_bytes() : 0; }

  // Fused form. `inputs`: the program's inputs (0 unused).
  void finish(const TileValues& tile, const TilePlace& place, const void* const* inputs,
              void* output) const;

 private:
  enum class Operand : uint8_t { kNone, kConstant, kScalar, kChannel, kTensor };
  struct Step {
    RegionOp op = RegionOp::kAdd;
    Operand operand = Operand::kNone;
    int input = 0;
    float value = 0;
    DType dtype = DType::kF32;
  };
  struct Context;

  bool parse(const EpilogueSite& site);
  bool parse_chain(const EpilogueSite& site, int value, std::vector<Step>& steps) const;
  bool leaf(const EpilogueSite& site, int value, Step& step) const;
  bool arrange(std::vector<Step> steps, DType output);
  VecI integer_terms(const Context& c, int panel, int lanes) const;
  void convert(const Context& c) const;
  void apply(const Context& c, const Step& step) const;
  void store_f32(const Context& c) const;
  void store_i32(const Context& c) const;
  template <bool kFromSums>
  void store_8bit(const Context& c) const;

  DType accumulator_ = DType::kF32, output_ = DType::kF32;
  bool channels_in_rows_ = false;
  Step integer_bias_, first_scale_;  // kNone: absent
  std::vector<Step> middle_;
  Step bias_, residual_;  // of the last f32 pass
  float zero_ = 0, low_ = 0, high_ = 0;
  std::shared_ptr<const BoundRegion> region_;
};

}  // namespace stoker::cpu
