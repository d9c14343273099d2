// How an attention at a bound shape is cut into units and blocks.
//
// The rows of a (batch, key head) are the queries of all heads that share the key head, head after
// head. A unit is a block of them: its scores against all positions, or against one block of
// positions after another, lie in the worker's workspace. Panels of K and V are made in a phase of
// their own (config "shared"), or by each unit for itself (config "local"), which is better when
// there are few rows: nothing is then written that another core has to read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/gemm/block.h"
#include "kernels/desc/attention.h"
#include "kernels/tactic.h"

namespace stoker::cpu {

// Element strides of an operand by batch, head and position.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};

struct AttentionPlan {
  AttentionExtents e;
  float scale = 1, softcap = 0, masked_score = 0;
  int64_t window = 0;
  bool causal = false, nan_rows = false, shared = false;
  HeadStrides q, k, v, y;

  bool bool_mask = false;
  int64_t mask_strides[4] = {};  // by batch, head, query, position
  int64_t mask_width = 0;        // positions that the mask reaches

  int64_t group = 1;                             // query heads of a key head
  int64_t rows = 0, block_rows = 1, blocks = 0;  // of a (batch, key head)
  int64_t kv_block = 16, score_stride = 16;      // positions in a block
  int64_t k_panels = 0, v_panels = 0;
  int tile_panels = 1;

  int64_t heads() const { return e.batch * e.kv_heads; }
  int64_t k_panel_floats() const { return e.head * 16; }
  int64_t shared_k_floats() const { return heads() * k_panels * k_panel_floats(); }
  int64_t shared_v_floats() const { return heads() * v_panels * e.kv_length * 16; }
  int64_t units(int phase) const;
};

inline constexpr int64_t kPackPanels = 8;    // of K, that one unit of the packing phase makes
inline constexpr int64_t kValueSteps = 256;  // positions of V that are multiplied at a time

AttentionPlan plan_attention(const Desc& desc, bool shared);

// One row of the result, in double precision and by the letter of the op: what is ruled out is not
// looked at. For rows in which infinities or NaN came up. `sums` holds a double per value column.
struct AttentionRow {
  const float *q, *k, *v;
  const void* mask;  // of this row; null: none
  int64_t first, last;
};
void attention_row_in_double(const AttentionPlan& plan, const AttentionRow& row, double* sums,
                             float* y);
// Is every position of the row ruled out?
bool attention_row_is_empty(const AttentionPlan& plan, const AttentionRow& row);

}  // namespace stoker::cpu
