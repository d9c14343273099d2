// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention/attention_plan.h"

#include <cmath>
#include <limits>

namespace stoker::cpu {
namespace {

constexpr int64_t kScoreBytes = 256 << 10;  // of a block: half of a small L2
constexpr int64_t kLongBlock = 1024;        // positions at a time where whole rows are too long
constexpr int64_t kMaxBlockRows = 128;
constexpr int64_t kMinBlockRows = 14;
constexpr int64_t kWantedUnits = 24;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

HeadStrides head_strides(bool packed, int64_t heads, int64_t length, int64_t width) {
  if (packed) return {length * heads * width, width, heads * width};
  return {heads * length * width, length * width, width};
}

void plan_mask(AttentionPlan& plan, const Desc& desc) {
  plan.mask_width = plan.e.kv_length;
  if (desc.inputs.size() < 4) return;
  const TensorDesc& mask = desc.inputs[3];
  plan.bool_mask = mask.dtype == DType::kBool;
  int64_t stride = 1;
  for (size_t k = 0; k < mask.dims.size(); ++k) {
    const int64_t extent = mask.dims[mask.dims.size() - 1 - k];
    if (extent != 1) plan.mask_strides[3 - k] = stride;
    stride *= extent;
  }
  const bool repeats = desc.as<AttentionParams>().mask_repeats && mask.dims.back() == 1;
  if (!repeats) plan.mask_width = mask.dims.back();
}

void plan_blocks(AttentionPlan& plan) {
  const int64_t row = divide_up(plan.e.kv_length, 16) * 16;
  const bool whole = row * 4 * kMinBlockRows <= kScoreBytes;
  plan.kv_block = std::max<int64_t>(16, whole ? row : kLongBlock);
  // An odd number of cache lines, so that equal columns of the rows do not share a cache set.
  plan.score_stride = plan.kv_block + (plan.kv_block / 16 % 2 == 0 ? 16 : 0);
  int64_t most = std::min(kScoreBytes / (plan.kv_block * 4), kMaxBlockRows);
  // Rows of a causal block that end early are computed to the end of the last one.
  if (plan.causal) most = std::min(most, 3 * kMinBlockRows);
  plan.blocks = divide_up(plan.rows, most);
  if (plan.shared && plan.heads() > 0) {
    const int64_t wanted =
        std::min(divide_up(kWantedUnits, plan.heads()), divide_up(plan.rows, kMinBlockRows));
    plan.blocks = std::max(plan.blocks, wanted);
  }
  plan.block_rows = std::max<int64_t>(1, divide_up(plan.rows, std::max<int64_t>(1, plan.blocks)));
  plan.blocks = divide_up(plan.rows, plan.block_rows);
  plan.tile_panels = tile_panels(TileKind::kF32, plan.block_rows);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Is position j ruled out?
bool ruled_out(const AttentionPlan& plan, const void* mask, int64_t j) {
  if (!mask) return false;
  const int64_t at = j * plan.mask_strides[3];
  if (!plan.bool_mask) return static_cast<const float*>(mask)[at] == -kInfinity;
  return plan.masked_score == -kInfinity && static_cast<const uint8_t*>(mask)[at] == 0;
}

// The score of a position that is not ruled out.
double score_of(const AttentionPlan& plan, const AttentionRow& row, int64_t j) {
  const int64_t at = j * plan.mask_strides[3];
  if (row.mask && plan.bool_mask && static_cast<const uint8_t*>(row.mask)[at] == 0)
    return plan.masked_score;
  const float* key = row.k + j * plan.k.row;
  double sum = 0;
  for (int64_t d = 0; d < plan.e.head; ++d) sum += static_cast<double>(row.q[d]) * key[d];
  sum *= plan.scale;
  if (plan.softcap > 0) sum = plan.softcap * std::tanh(sum / plan.softcap);
  return row.mask && !plan.bool_mask ? sum + static_cast<const float*>(row.mask)[at] : sum;
}

}  // namespace

int64_t AttentionPlan::units(int phase) const {
  if (shared && phase == 0) return heads() * divide_up(k_panels, kPackPanels);
  return heads() * blocks;
}

AttentionPlan plan_attention(const Desc& desc, bool shared) {
  const auto& p = desc.as<AttentionParams>();
  AttentionPlan plan;
  plan.e = attention_extents(desc);
  const AttentionExtents& e = plan.e;
  plan.scale = static_cast<float>(p.scale);
  plan.softcap = static_cast<float>(p.softcap);
  plan.masked_score = static_cast<float>(p.masked_score);
  plan.window = p.window;
  plan.causal = p.causal;
  plan.nan_rows = p.nan_rows;
  plan.shared = shared;
  plan.q = head_strides(p.packed, e.q_heads, e.q_length, e.head);
  plan.k = head_strides(p.packed, e.kv_heads, e.kv_length, e.head);
  plan.v = head_strides(p.packed, e.kv_heads, e.kv_length, e.v_head);
  plan.y = head_strides(p.packed, e.q_heads, e.q_length, e.v_head);
  plan.group = e.kv_heads > 0 ? e.q_heads / e.kv_heads : 0;
  plan.rows = plan.group * e.q_length;
  plan.k_panels = divide_up(e.kv_length, 16);
  plan.v_panels = divide_up(e.v_head, 16);
  plan_mask(plan, desc);
  plan_blocks(plan);
  return plan;
}

bool attention_row_is_empty(const AttentionPlan& plan, const AttentionRow& row) {
  for (int64_t j = row.first; j < row.last; ++j) {
    if (!ruled_out(plan, row.mask, j)) return false;
  }
  return true;
}

void attention_row_in_double(const AttentionPlan& plan, const AttentionRow& row, double* sums,
                             float* y) {
  double most = -kInfinity, total = 0;
  for (int64_t j = row.first; j < row.last; ++j) {
    if (!ruled_out(plan, row.mask, j)) most = std::max(most, score_of(plan, row, j));
  }
  std::fill(sums, sums + plan.e.v_head, 0.0);
  for (int64_t j = row.first; j < row.last; ++j) {
    if (ruled_out(plan, row.mask, j)) continue;
    const double p = std::exp(score_of(plan, row, j) - most);
    const float* value = row.v + j * plan.v.row;
    total += p;
    for (int64_t d = 0; d < plan.e.v_head; ++d) sums[d] += p * value[d];
  }
  for (int64_t d = 0; d < plan.e.v_head; ++d) y[d] = static_cast<float>(sums[d] / total);
}

}  // namespace stoker::cpu
