// Cuts a gemm into units: (batch, block of columns, block of rows), by output only, never by K.
// Sizes do not depend on the number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gemm/gemm_plan.h"

#include "kernels/cpu/gemm/pack.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kMaxBlockTiles = 10;  // rows of a block in tiles: A's block stays in L2
constexpr int64_t kLongSteps = 1536;    // from here on K is cut into blocks of about kBlockSteps
constexpr int64_t kBlockSteps = 1024;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Batch dims of the result and how A and B move along them, in matrices.
void plan_batch(GemmPlan& plan, const Desc& desc) {
  const std::vector<int64_t>& a = desc.inputs[0].dims;
  const std::vector<int64_t>& b = desc.inputs[1].dims;
  const size_t rank = plan.y_dims.size() - 2;
  plan.batch_dims.assign(plan.y_dims.begin(), plan.y_dims.end() - 2);
  plan.a_strides.assign(rank, 0);
  plan.b_strides.assign(rank, 0);
  int64_t a_count = 1, b_count = 1;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = rank - 1 - i;
    plan.batches *= plan.batch_dims[d];
    if (i + 2 < a.size()) {
      const int64_t extent = a[a.size() - 3 - i];
      if (extent != 1) plan.a_strides[d] = a_count;
      a_count *= extent;
    }
    if (i + 2 < b.size()) {
      const int64_t extent = b[b.size() - 3 - i];
      if (extent != 1) plan.b_strides[d] = b_count;
      b_count *= extent;
    }
  }
  plan.b_batches = b_count;
  if (b_count == 1 && a_count == plan.batches && !plan.transpose_a && plan.batches > 1) {
    plan.folded = true;
    plan.m *= plan.batches;
    plan.batches = 1;
  }
}

void plan_blocks(GemmPlan& plan) {
  plan.tile_panels = tile_panels(plan.kind, plan.m);
  const int64_t height = tile_rows(plan.kind, plan.tile_panels);
  const int64_t tiles = std::max<int64_t>(1, divide_up(plan.m, height));
  int64_t block_tiles = std::min(tiles, kMaxBlockTiles);
  plan.unit_panels = std::max<int64_t>(8, plan.tile_panels);
  const auto update = [&] {
    plan.m_blocks = divide_up(tiles, block_tiles);
    plan.n_blocks = divide_up(plan.panel_count, plan.unit_panels);
    return plan.batches * plan.m_blocks * plan.n_blocks;
  };
  while (update() < kWantedUnits && plan.unit_panels > plan.tile_panels) plan.unit_panels /= 2;
  while (update() < kWantedUnits && block_tiles > 1) block_tiles = divide_up(block_tiles, 2);
  plan.block_rows = std::max<int64_t>(1, divide_up(plan.m, std::max<int64_t>(1, plan.m_blocks)));
  plan.m_blocks = plan.m == 0 ? 0 : divide_up(plan.m, plan.block_rows);
  if (plan.steps > kLongSteps && plan.block_rows > height) {
    plan.step_blocks = divide_up(plan.steps, kBlockSteps);
  }
  plan.whole = !plan.epilogue.fused() || plan.step_blocks > 1;
}

// Copies A's rows of a block with K rounded up to whole steps, from either orientation.
void copy_rows(const GemmPlan& plan, const uint8_t* a, int64_t row, int64_t rows, uint8_t* to) {
  const int64_t padded = plan.steps * 4;
  for (int64_t r = 0; r < rows; ++r) {
    uint8_t* line = to + r * padded;
    if (plan.transpose_a) {
      for (int64_t k = 0; k < plan.k; ++k) line[k] = a[k * plan.m + row + r];
    } else {
      std::copy_n(a + (row + r) * plan.k, plan.k, line);
    }
    std::fill(line + plan.k, line + padded, uint8_t{0});
  }
}

void pack_bytes(const GemmPlan& plan, const uint8_t* from, int64_t width, int8_t* to,
                int32_t* sums) {
  const int64_t k_stride = plan.transpose_b ? 1 : plan.n, n_stride = plan.transpose_b ? plan.k : 1;
  const uint8_t flip = plan.unsigned_b ? 0x80 : 0;
  std::fill(to, to + plan.panel_bytes, int8_t{0});
  std::fill(sums, sums + 16, 0);
  for (int64_t k = 0; k < plan.k; ++k) {
    for (int64_t j = 0; j < width; ++j) {
      const auto value = static_cast<int8_t>(from[k * k_stride + j * n_stride] ^ flip);
      to[(k / 4 * 16 + j) * 4 + k % 4] = value;
      sums[j] += value;
    }
  }
}

struct Scratch {
  float* values;
  const std::byte** rows;
  uint8_t* copied;
  int32_t* lane_terms;
  int32_t* row_terms;
  float* widened;
  std::byte* region;
};

Scratch carve(const GemmPlan& plan, Carver& carver) {
  Scratch s{};
  s.values =
      carver.take<float>(plan.whole ? plan.block_rows * plan.unit_panels * 16 : kMaxTileElements);
  s.rows = carver.take<const std::byte*>(plan.block_rows);
  if (plan.pack_a) s.copied = carver.take<uint8_t>(plan.block_rows * plan.steps * 4);
  if (!sums_floats(plan.kind)) {
    s.lane_terms = carver.take<int32_t>(plan.unit_panels * 16);
    s.row_terms = carver.take<int32_t>(plan.block_rows);
  }
  if (plan.kind == TileKind::kF32I8 && plan.block_rows > tile_rows(plan.kind, plan.tile_panels)) {
    const int64_t steps = divide_up(plan.steps, plan.step_blocks);
    s.widened = carver.take<float>(plan.tile_panels * steps * 16);
  }
  s.region = carver.take<std::byte>(plan.epilogue.scratch_bytes());
  return s;
}

// One unit's place: which matrices, rows and panels.
struct Place {
  int64_t batch = 0, a_matrix = 0, b_matrix = 0;
  int64_t row = 0, rows = 0, panel = 0, panels = 0;
};

Place place_of(const GemmPlan& plan, int64_t unit) {
  Place p;
  const int64_t m_block = unit % plan.m_blocks;
  unit /= plan.m_blocks;
  p.panel = unit % plan.n_blocks * plan.unit_panels;
  p.batch = unit / plan.n_blocks;
  p.row = m_block * plan.block_rows;
  p.rows = std::min(plan.block_rows, plan.m - p.row);
  p.panels = std::min(plan.unit_panels, plan.panel_count - p.panel);
  if (plan.folded) return p;
  int64_t rest = p.batch;
  for (size_t d = plan.batch_dims.size(); d-- > 0;) {
    p.a_matrix += rest % plan.batch_dims[d] * plan.a_strides[d];
    p.b_matrix += rest % plan.batch_dims[d] * plan.b_strides[d];
    rest /= plan.batch_dims[d];
  }
  return p;
}

void set_rows(const GemmPlan& plan, const Place& p, const std::byte* a, const Scratch& s) {
  a += p.a_matrix * plan.m * plan.k * plan.element_bytes;
  if (plan.pack_a) {
    copy_rows(plan, reinterpret_cast<const uint8_t*>(a), p.row, p.rows, s.copied);
    for (int64_t r = 0; r < p.rows; ++r) {
      s.rows[r] = reinterpret_cast<const std::byte*>(s.copied + r * plan.steps * 4);
    }
    return;
  }
  const int64_t stride = plan.transpose_a ? plan.element_bytes : plan.k * plan.element_bytes;
  for (int64_t r = 0; r < p.rows; ++r) s.rows[r] = a + (p.row + r) * stride;
}

void set_terms(const GemmPlan& plan, const ZeroPoints& zeros, const Place& p, const std::byte* b,
               const Scratch& s) {
  const auto* sums = reinterpret_cast<const int32_t*>(b + plan.sums_offset()) +
                     (p.b_matrix * plan.panel_count + p.panel) * 16;
  for (int64_t j = 0; j < p.panels * 16; ++j) s.lane_terms[j] = zeros.column(sums[j], plan.k);
  if (zeros.b_zero == 0) return;
  for (int64_t r = 0; r < p.rows; ++r) {
    int32_t sum = 0;
    const auto* row = reinterpret_cast<const uint8_t*>(s.rows[r]);
    if (plan.kind == TileKind::kI8) {
      for (int64_t k = 0; k < plan.k; ++k) sum += static_cast<int8_t>(row[k]);
    } else {
      for (int64_t k = 0; k < plan.k; ++k) sum += row[k];
    }
    s.row_terms[r] = zeros.row(sum, plan.k);
  }
}

// The general epilogue over the block, cut where rows of a folded batch leave their matrix.
void run_region(const GemmPlan& plan, const Place& p, const Launch& launch, const Scratch& s) {
  const size_t rank = plan.y_dims.size();
  const int64_t height = plan.y_dims[rank - 2];
  const int64_t value_row = plan.unit_panels * 16;
  int64_t strides[kMaxRegionRank] = {}, begin[kMaxRegionRank] = {}, extent[kMaxRegionRank] = {};
  strides[rank - 2] = value_row;
  strides[rank - 1] = 1;
  std::fill(extent, extent + rank, 1);
  begin[rank - 1] = p.panel * 16;
  extent[rank - 1] = std::min(p.panels * 16, plan.n - p.panel * 16);
  for (int64_t row = p.row; row < p.row + p.rows;) {
    int64_t rest = plan.folded ? row / height : p.batch;
    begin[rank - 2] = plan.folded ? row % height : row;
    extent[rank - 2] = std::min(height - begin[rank - 2], p.row + p.rows - row);
    for (size_t d = rank - 2; d-- > 0;) {
      begin[d] = rest % plan.y_dims[d];
      rest /= plan.y_dims[d];
    }
    plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs,
                               s.values + (row - p.row) * value_row, strides, s.region);
    row += extent[rank - 2];
  }
}

}  // namespace

int64_t GemmPlan::b_bytes() const {
  return sums_offset() + (sums_floats(kind) ? 0 : b_batches * panel_count * 64);
}

int64_t GemmPlan::units(int phase) const {
  if (pack_b && phase == 0) return b_batches * panel_count;
  return batches * n_blocks * m_blocks;
}

Result<GemmPlan> plan_gemm(const Desc& desc, TileKind kind) {
  const auto& params = desc.as<GemmParams>();
  const TensorDesc &a = desc.inputs[0], &b = desc.inputs[1];
  GemmPlan plan;
  plan.kind = kind;
  plan.element_bytes = sums_floats(kind) ? 4 : 1;
  plan.transpose_a = params.transpose_a;
  plan.transpose_b = params.transpose_b;
  plan.y_dims = desc.outputs[0].dims;
  plan.m = plan.y_dims[plan.y_dims.size() - 2];
  plan.n = plan.y_dims.back();
  plan.k = a.dims[a.dims.size() - (params.transpose_a ? 2 : 1)];
  plan.unsigned_b = b.dtype == DType::kU8;
  plan.zeros = ZeroPoints(params.a_zero, a.dtype, params.b_zero, b.dtype);
  plan_batch(plan, desc);
  plan.steps = sums_floats(kind) ? plan.k : divide_up(plan.k, 4);
  plan.panel_count = divide_up(plan.n, 16);
  plan.panel_bytes = plan.steps * step_of_b(kind);
  plan.pack_b = b.packing == Packing::kNone;
  plan.pack_a = !sums_floats(kind) && (params.transpose_a || plan.k % 4 != 0);
  EpilogueSite site;
  site.program = &params.epilogue;
  site.desc = &desc;
  site.accumulator = sums_floats(kind) ? DType::kF32 : DType::kI32;
  site.channel_dim = static_cast<int>(plan.y_dims.size()) - 1;
  STOKER_ASSIGN(plan.epilogue, Epilogue::make(site));
  plan_blocks(plan);
  return plan;
}

int64_t gemm_worker_bytes(const GemmPlan& plan) {
  Carver carver(nullptr);
  carve(plan, carver);
  return carver.bytes();
}

void gemm_pack_unit(const GemmPlan& plan, const void* b, std::byte* packed, int64_t unit) {
  const int64_t batch = unit / plan.panel_count, column = unit % plan.panel_count * 16;
  const int64_t width = std::min<int64_t>(16, plan.n - column);
  const int64_t first = batch * plan.k * plan.n + column * (plan.transpose_b ? plan.k : 1);
  std::byte* panel = packed + unit * plan.panel_bytes;
  if (plan.kind == TileKind::kF32) {
    const float* from = static_cast<const float*>(b) + first;
    float* to = reinterpret_cast<float*>(panel);
    if (width < 16) std::fill(to, to + plan.k * 16, 0.0f);
    if (plan.transpose_b) {
      pack_transposed(from, plan.k, width, plan.k, to);
    } else {
      for (int64_t k = 0; k < plan.k; ++k) std::copy_n(from + k * plan.n, width, to + k * 16);
    }
  } else {
    int32_t* sums = reinterpret_cast<int32_t*>(packed + plan.sums_offset()) + unit * 16;
    pack_bytes(plan, static_cast<const uint8_t*>(b) + first, width,
               reinterpret_cast<int8_t*>(panel), sums);
  }
}

void gemm_unit(const GemmPlan& plan, const Launch& launch, const std::byte* b, int64_t unit) {
  Carver carver(launch.worker_workspace);
  const Scratch s = carve(plan, carver);
  const Place p = place_of(plan, unit);
  set_rows(plan, p, static_cast<const std::byte*>(launch.inputs[0]), s);
  const bool integers = !sums_floats(plan.kind);
  if (integers) {
    ZeroPoints zeros = plan.zeros;
    const auto& params = launch.desc->as<GemmParams>();
    zeros.set_a(zero_point(*launch.desc, launch.inputs, params.a_zero_input, params.a_zero),
                launch.desc->inputs[0].dtype);
    set_terms(plan, zeros, p, b, s);
  }

  Block block;
  block.kind = plan.kind;
  block.rows = s.rows;
  block.row_count = p.rows;
  block.segment_count = 1;
  block.step_bytes = plan.transpose_a && !plan.pack_a ? plan.m * 4 : 4;
  block.panel_bytes = plan.panel_bytes;
  block.panels = static_cast<int>(p.panels);
  block.tile_panels = plan.tile_panels;
  block.values = s.values;
  block.whole = plan.whole;
  block.value_row = plan.unit_panels * 16;
  block.value_panel = 16;
  block.widened = s.widened;
  b += (p.b_matrix * plan.panel_count + p.panel) * plan.panel_bytes;
  for (int64_t i = 0; i < plan.step_blocks; ++i) {
    const int64_t first = i * plan.steps / plan.step_blocks;
    const int64_t segment = first * block.step_bytes;
    const bool last = i + 1 == plan.step_blocks;
    block.segments = &segment;
    block.steps = (i + 1) * plan.steps / plan.step_blocks - first;
    block.b = b + first * step_of_b(plan.kind);
    block.accumulate = i > 0;
    run_block(block, [&](TileValues tile, int64_t row, int panel) {
      if (!last) return;
      if (integers && plan.zeros.b_zero != 0) add_row_terms(tile, s.row_terms + row);
      if (!plan.epilogue.fused()) {
        if (integers) add_lane_terms(tile, s.lane_terms + panel * 16);
        return;
      }
      if (integers) tile.add = s.lane_terms + panel * 16;
      TilePlace place;
      place.channel = (p.panel + panel) * 16;
      place.offset = (p.batch * plan.m + p.row + row) * plan.n + place.channel;
      place.row_stride = plan.n;
      place.panel_stride = 16;
      place.lanes = plan.n - place.channel;
      plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
    });
  }
  if (!plan.epilogue.fused()) run_region(plan, p, launch, s);
}

}  // namespace stoker::cpu
