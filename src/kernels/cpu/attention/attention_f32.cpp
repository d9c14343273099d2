// Tactic attention_f32: Y = softmax(scale * Q K^T + mask) V without writing the scores to memory.
// Tiles: rows x 16-column panels of K^T, then of V, by the shared register tile; in between the
// rows get their mask, maximum and exponentials in place. The division by a row's sum is left to
// its end. Rows of up to some thousand positions are kept whole; longer ones go block by block with
// a running maximum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
//   flops    2 q kv (head + v_head) of a head, and q kv exponentials
//   bytes    Q, K, V, Y and the mask once; panels of K and V again from L2 or L3
//   bound    the FMA ports from some 16 rows on, below that the bandwidth of K and V
//   limits   f32; masks of bool or f32. A row in which infinities or NaN come up is computed again
//            in double precision, slowly.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/gemm/pack.h"

namespace stoker::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct Scratch {
  float *scores, *sums_of_values, *panels;
  float *most, *sum;
  const std::byte** rows;
  AttentionRow* places;
  float** outputs;
  double* careful;
};

Scratch carve(const AttentionPlan& plan, Carver& carver) {
  Scratch s{};
  s.scores = carver.take<float>(plan.block_rows * plan.score_stride);
  s.sums_of_values = carver.take<float>(plan.block_rows * plan.v_panels * 16);
  if (!plan.shared) {
    s.panels = carver.take<float>(plan.tile_panels * 16 * std::max(plan.e.head, kValueSteps));
  }
  s.most = carver.take<float>(plan.block_rows);
  s.sum = carver.take<float>(plan.block_rows);
  s.rows = carver.take<const std::byte*>(plan.block_rows);
  s.places = carver.take<AttentionRow>(plan.block_rows);
  s.outputs = carver.take<float*>(plan.block_rows);
  s.careful = carver.take<double>(plan.e.v_head);
  return s;
}

// ---- panels.

void pack_key_panel(const AttentionPlan& plan, const float* k, int64_t panel, float* to) {
  const int64_t width = std::min<int64_t>(16, plan.e.kv_length - panel * 16);
  if (width < 16) std::fill(to, to + plan.k_panel_floats(), 0.0f);
  pack_transposed(k + panel * 16 * plan.k.row, plan.k.row, width, plan.e.head, to);
}

void pack_value_panel(const AttentionPlan& plan, const float* v, int64_t panel, int64_t first,
                      int64_t count, float* to) {
  const int64_t width = std::min<int64_t>(16, plan.e.v_head - panel * 16);
  pack_rows(v + first * plan.v.row + panel * 16, plan.v.row, width, count, to);
}

const float* head_of(const void* data, const HeadStrides& s, int64_t batch, int64_t head) {
  return static_cast<const float*>(data) + batch * s.batch + head * s.head;
}

void pack_unit(const AttentionPlan& plan, const Launch& l, int64_t unit) {
  const int64_t pieces = (plan.k_panels + kPackPanels - 1) / kPackPanels;
  const int64_t head = unit / pieces, first = unit % pieces * kPackPanels;
  const int64_t last = std::min(first + kPackPanels, plan.k_panels);
  const int64_t b = head / plan.e.kv_heads, h = head % plan.e.kv_heads;
  const float* k = head_of(l.inputs[1], plan.k, b, h);
  const float* v = head_of(l.inputs[2], plan.v, b, h);
  float* keys = reinterpret_cast<float*>(l.shared_workspace);
  float* values = keys + plan.shared_k_floats();
  for (int64_t p = first; p < last; ++p)
    pack_key_panel(plan, k, p, keys + (head * plan.k_panels + p) * plan.k_panel_floats());
  const int64_t position = first * 16;
  const int64_t count = std::min(last * 16, plan.e.kv_length) - position;
  for (int64_t p = 0; p < plan.v_panels; ++p) {
    float* panel = values + ((head * plan.v_panels + p) * plan.e.kv_length + position) * 16;
    pack_value_panel(plan, v, p, position, count, panel);
  }
}

// ---- one unit.

class Unit {
 public:
  Unit(const AttentionPlan& plan, const Launch& l, int64_t unit) : plan_(plan), launch_(l) {
    Carver carver(l.worker_workspace);
    s_ = carve(plan, carver);
    head_ = unit / plan.blocks;
    const int64_t b = head_ / plan.e.kv_heads, h = head_ % plan.e.kv_heads;
    const int64_t first = unit % plan.blocks * plan.block_rows;
    count_ = std::min(plan.block_rows, plan.rows - first);
    k_ = head_of(l.inputs[1], plan.k, b, h);
    v_ = head_of(l.inputs[2], plan.v, b, h);
    low_ = plan.e.kv_length;
    for (int64_t r = 0; r < count_; ++r) {
      const int64_t query = (first + r) % plan.e.q_length;
      place_row(r, b, h * plan.group + (first + r) / plan.e.q_length, query);
    }
    low_ = low_ / 16 * 16;
  }

  void run() {
    std::fill(s_.most, s_.most + count_, kMinusInfinity);
    std::fill(s_.sum, s_.sum + count_, 0.0f);
    for (int64_t j = low_; j < high_; j += plan_.kv_block) {
      const int64_t n = std::min(plan_.kv_block, high_ - j);
      multiply_keys(j, n);
      for (int64_t r = 0; r < count_; ++r) exponentials(r, j, n);
      multiply_values(j, n);
    }
    for (int64_t r = 0; r < count_; ++r) finish(r);
  }

 private:
  void place_row(int64_t r, int64_t batch, int64_t head, int64_t query) {
    AttentionRow& row = s_.places[r];
    row.q = head_of(launch_.inputs[0], plan_.q, batch, head) + query * plan_.q.row;
    row.k = k_, row.v = v_, row.mask = nullptr;
    if (launch_.desc->inputs.size() > 3) {
      const int64_t* strides = plan_.mask_strides;
      const int64_t at = batch * strides[0] + head * strides[1] + query * strides[2];
      row.mask = static_cast<const std::byte*>(launch_.inputs[3]) + at * (plan_.bool_mask ? 1 : 4);
    }
    row.first = 0;
    row.last = plan_.mask_width;
    if (plan_.causal) row.last = std::min(row.last, query + 1);
    if (plan_.window > 0) row.first = std::max<int64_t>(0, query + 1 - plan_.window);
    row.first = std::min(row.first, row.last);
    low_ = std::min(low_, row.first);
    high_ = std::max(high_, row.last);
    s_.outputs[r] = static_cast<float*>(launch_.outputs[0]) + batch * plan_.y.batch +
                    head * plan_.y.head + query * plan_.y.row;
  }

  Block block_of_rows() const {
    Block block;
    block.rows = s_.rows;
    block.row_count = count_;
    block.segment_count = 1;
    block.tile_panels = plan_.tile_panels;
    block.whole = true;
    block.value_panel = 16;
    return block;
  }

  // Scores of `n` positions from `position` on, a multiple of 16.
  void multiply_keys(int64_t position, int64_t n) {
    for (int64_t r = 0; r < count_; ++r)
      s_.rows[r] = reinterpret_cast<const std::byte*>(s_.places[r].q);
    const int64_t segment = 0, panels = (n + 15) / 16;
    const float* shared = reinterpret_cast<const float*>(launch_.shared_workspace) +
                          (head_ * plan_.k_panels + position / 16) * plan_.k_panel_floats();
    Block block = block_of_rows();
    block.segments = &segment;
    block.steps = plan_.e.head;
    block.panel_bytes = plan_.k_panel_floats() * 4;
    block.value_row = plan_.score_stride;
    for (int64_t p = 0; p < panels; p += plan_.tile_panels) {
      block.panels = static_cast<int>(std::min<int64_t>(plan_.tile_panels, panels - p));
      const float* b = plan_.shared ? shared + p * plan_.k_panel_floats() : s_.panels;
      for (int i = 0; i < block.panels && !plan_.shared; ++i) {
        pack_key_panel(plan_, k_, position / 16 + p + i, s_.panels + i * plan_.k_panel_floats());
      }
      block.b = reinterpret_cast<const std::byte*>(b);
      block.values = s_.scores + p * 16;
      run_block(block, [](const TileValues&, int64_t, int) {});
    }
  }

  void exponentials(int64_t r, int64_t position, int64_t n) {
    const AttentionRow& row = s_.places[r];
    float* scores = s_.scores + r * plan_.score_stride;
    const int64_t first = std::clamp<int64_t>(row.first - position, 0, n);
    const int64_t last = std::clamp<int64_t>(row.last - position, first, n);
    std::fill(scores, scores + first, 0.0f);
    std::fill(scores + last, scores + n, 0.0f);
    const float before = s_.most[r];
    float most = std::max(
        before, finish_scores(plan_, row.mask, position + first, last - first, scores + first));
    if (most == kMinusInfinity) {
      std::fill(scores + first, scores + last, 0.0f);
      return;
    }
    s_.most[r] = most;
    const float factor = position == low_ ? 1.0f : std::exp(before - most);
    s_.sum[r] = s_.sum[r] * factor + exponentials_of(scores + first, last - first, most);
    if (factor == 1.0f) return;
    float* sums = s_.sums_of_values + r * plan_.v_panels * 16;
    for (int64_t d = 0; d < plan_.v_panels * 16; ++d) sums[d] *= factor;
  }

  void multiply_values(int64_t position, int64_t n) {
    for (int64_t r = 0; r < count_; ++r)
      s_.rows[r] = reinterpret_cast<const std::byte*>(s_.scores + r * plan_.score_stride);
    const float* shared = reinterpret_cast<const float*>(launch_.shared_workspace) +
                          plan_.shared_k_floats() +
                          (head_ * plan_.v_panels * plan_.e.kv_length + position) * 16;
    Block block = block_of_rows();
    block.value_row = plan_.v_panels * 16;
    for (int64_t step = 0; step < n; step += kValueSteps) {
      const int64_t segment = step * 4;
      block.segments = &segment;
      block.steps = std::min(kValueSteps, n - step);
      block.panel_bytes = (plan_.shared ? plan_.e.kv_length : block.steps) * 64;
      block.accumulate = step > 0 || position > low_;
      for (int64_t p = 0; p < plan_.v_panels; p += plan_.tile_panels) {
        block.panels = static_cast<int>(std::min<int64_t>(plan_.tile_panels, plan_.v_panels - p));
        const float* b = plan_.shared ? shared + (p * plan_.e.kv_length + step) * 16 : s_.panels;
        for (int i = 0; i < block.panels && !plan_.shared; ++i) {
          pack_value_panel(plan_, v_, p + i, position + step, block.steps,
                           s_.panels + i * block.steps * 16);
        }
        block.b = reinterpret_cast<const std::byte*>(b);
        block.values = s_.sums_of_values + p * 16;
        run_block(block, [](const TileValues&, int64_t, int) {});
      }
    }
  }

  void finish(int64_t r) {
    const AttentionRow& row = s_.places[r];
    float* y = s_.outputs[r];
    if (s_.most[r] == kMinusInfinity && attention_row_is_empty(plan_, row)) {
      const bool nan = plan_.nan_rows && plan_.e.kv_length > 0;
      std::fill(y, y + plan_.e.v_head, nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
      return;
    }
    const float* sums = s_.sums_of_values + r * plan_.v_panels * 16;
    if (s_.most[r] == kMinusInfinity || !scale_row(sums, 1 / s_.sum[r], plan_.e.v_head, y))
      attention_row_in_double(plan_, row, s_.careful, y);
  }

  const AttentionPlan& plan_;
  const Launch& launch_;
  Scratch s_;
  const float *k_ = nullptr, *v_ = nullptr;
  int64_t head_ = 0, count_ = 0, low_ = 0, high_ = 0;
};

// ---- the tactic.

constexpr const char *kShared = "shared", *kLocal = "local";

bool is_shared(const Config& config) { return config.values[0] != 0; }

Status supports(const Desc& desc) {
  if (desc.inputs[0].dtype != DType::kF32)
    return unsupported("operands are {}, expected f32", dtype_name(desc.inputs[0].dtype));
  if (desc.inputs.size() > 3) {
    const DType mask = desc.inputs[3].dtype;
    if (mask != DType::kF32 && mask != DType::kBool)
      return unsupported("the mask is {}, expected f32 or bool", dtype_name(mask));
  }
  return Status::ok();
}

std::vector<Config> configs(const Desc& desc) {
  const Config shared{kShared, {1}}, local{kLocal, {0}};
  const int64_t blocks = plan_attention(desc, false).blocks;
  if (blocks <= 1) return {local, shared};
  return blocks == 2 ? std::vector<Config>{shared, local} : std::vector<Config>{shared};
}

Workspace workspace(const Desc& desc, const Config& config) {
  const AttentionPlan plan = plan_attention(desc, is_shared(config));
  Carver carver(nullptr);
  carve(plan, carver);
  const int64_t floats = plan.shared ? plan.shared_k_floats() + plan.shared_v_floats() : 0;
  return {floats * 4, carver.bytes()};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config& config) {
  return std::make_shared<const AttentionPlan>(plan_attention(desc, is_shared(config)));
}

int phases(const Desc&, const Config& config) { return is_shared(config) ? 2 : 1; }

int64_t units(const Desc&, const Config&, const void* prepared, int phase) {
  return static_cast<const AttentionPlan*>(prepared)->units(phase);
}

Status launch(const Launch& l) {
  const auto& plan = *static_cast<const AttentionPlan*>(l.prepared);
  for (int64_t unit = l.unit_begin; unit < l.unit_end; ++unit) {
    if (plan.shared && l.phase == 0)
      pack_unit(plan, l, unit);
    else
      Unit(plan, l, unit).run();
  }
  return Status::ok();
}

}  // namespace

extern const Tactic attention_f32;
const Tactic attention_f32 = {
    .name = "attention_f32",
    .family = Family::kAttention,
    .supports = supports,
    .configs = configs,
    .workspace = workspace,
    .prepare = prepare,
    .phases = phases,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
