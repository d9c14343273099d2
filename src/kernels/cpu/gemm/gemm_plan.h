// How a gemm at a bound shape is cut into units and blocks; the same for all kinds of tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/gemm/block.h"
#include "kernels/tactic.h"

namespace stoker::cpu {

struct GemmPlan {
  TileKind kind = TileKind::kF32;
  int64_t element_bytes = 4;  // of A
  bool transpose_a = false, transpose_b = false, unsigned_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t batches = 1, b_batches = 1;                     // of the result and of B
  std::vector<int64_t> batch_dims, a_strides, b_strides;  // in matrices
  std::vector<int64_t> y_dims;
  bool folded = false;  // the batch was folded into m
  ZeroPoints zeros;  // A's may come with a launch

  int64_t steps = 0, panel_count = 0, panel_bytes = 0;
  bool pack_b = false, pack_a = false;
  int tile_panels = 1;
  int64_t unit_panels = 1, n_blocks = 1, m_blocks = 1, block_rows = 1;
  int64_t step_blocks = 1;  // blocks of K; more than one adds up in the block
  bool whole = false;       // values are kept for the whole block
  Epilogue epilogue;

  int64_t sums_offset() const { return b_batches * panel_count * panel_bytes; }
  int64_t b_bytes() const;
  int64_t units(int phase) const;
};

Result<GemmPlan> plan_gemm(const Desc& desc, TileKind kind);
int64_t gemm_worker_bytes(const GemmPlan& plan);
// Packs panel `unit` of B (all batches) into the shared workspace.
void gemm_pack_unit(const GemmPlan& plan, const void* b, std::byte* packed, int64_t unit);
void gemm_unit(const GemmPlan& plan, const Launch& launch, const std::byte* b, int64_t unit);

}  // namespace stoker::cpu
