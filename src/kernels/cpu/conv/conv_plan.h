// How a direct convolution with blocked output channels is cut. It is a gemm whose rows are the
// input pixels under the kernel's first tap and whose K is a list of segments, one per channel
// group and tap; nothing is unrolled. Padding is real: phase 0 copies a padded input first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/conv/conv_shape.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/tactic.h"

namespace stoker::cpu {

struct ConvPlan {
  ConvShape shape;
  TileKind kind = TileKind::kF32;
  bool stem = false;  // plain input of few channels
  int64_t element_bytes = 4;
  ZeroPoints zeros;  // x's may come with a launch

  bool copy = false;              // phase 0 makes the input below in the shared workspace
  int64_t height = 0, width = 0;  // of the input that the tiles read
  int64_t planes = 0;             // per image: channel groups (stem f32: channels)
  int64_t pixel_bytes = 0, row_bytes = 0, plane_bytes = 0, image_bytes = 0;
  int64_t copy_rows = 1, copy_blocks = 0;  // rows of a plane per unit of phase 0

  std::vector<int64_t> segments;
  int64_t steps = 0, step_bytes = 4;
  int64_t panel_count = 0, panel_bytes = 0;
  int tile_panels = 1;
  int64_t unit_panels = 1, panel_blocks = 0;
  int64_t block_rows = 1, row_blocks = 0, block_columns = 1, column_blocks = 0;
  bool weights_outer = false;  // order of the units
  Epilogue epilogue;

  int64_t units(int phase) const;
};

Result<ConvPlan> plan_conv(const Desc& desc, TileKind kind, bool stem);
int64_t conv_worker_bytes(const ConvPlan& plan);
void conv_copy_unit(const ConvPlan& plan, const Launch& launch, std::byte* copied, int64_t unit);
void conv_unit(const ConvPlan& plan, const Launch& launch, const std::byte* x, int64_t unit);

}  // namespace stoker::cpu
