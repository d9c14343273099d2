// Transposed convolution, f32, layout c16 in and out.
//   y[i * stride - pad + tap * dilation] += x[i] * w[tap]
// Outputs whose position modulo the stride is equal (a phase) read the same taps, each at a fixed
// shift of x: a phase is a sum of gemms whose rows are the neighbouring pixels of an input row.
// Nothing is scattered, so units do not race: a unit is some output rows x columns x panels of
// output channels, computed row by row and phase by phase into a row that stays in L1, which the
// epilogue then reads.
//   work   2 N C O KH KW H W flops, bound by the FMA ports; kernel == stride: by the output's
//   stores limit  images narrower than a tile's height leave accumulators idle
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/cpu/conv/conv_shape.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kBlockColumns = 128;
constexpr int64_t kMinFilters = 8;  // fewer fill less than half of the lanes
constexpr int64_t kMaxPhases = 4096, kMaxTaps = 1 << 20;

struct Tap {
  int64_t kernel = 0;  // its position in the kernel
  int64_t shift = 0;   // output q of the phase reads input q + shift
};
using Phases = std::vector<std::vector<Tap>>;

struct TransposePlan {
  ConvShape shape;
  Phases row_phases, column_phases;
  int64_t groups = 0, panel_count = 0;
  std::vector<int64_t> segments;  // byte offsets of the channel groups
  int tile_panels = 1;
  int64_t panel_blocks = 0;
  int64_t block_rows = 1, row_blocks = 0, block_columns = 1, column_blocks = 0;
  Epilogue epilogue;

  int64_t tap_bytes() const { return groups * 1024; }
  int64_t panel_bytes() const { return shape.taps() * tap_bytes(); }
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<Phases> phases_of(const ConvShape& s, size_t d) {
  const int64_t count = std::min(s.stride[d], s.out[d]);
  if (count > kMaxPhases || s.kernel[d] > kMaxTaps)
    return unsupported("stride {} and kernel {} are too large", s.stride[d], s.kernel[d]);
  Phases phases(static_cast<size_t>(count));
  for (int64_t k = 0; k < s.kernel[d]; ++k) {
    const int64_t offset = k * s.dilation[d] - s.pad_begin[d];
    const int64_t phase = (offset % s.stride[d] + s.stride[d]) % s.stride[d];
    if (phase < count)
      phases[static_cast<size_t>(phase)].push_back({k, (phase - offset) / s.stride[d]});
  }
  return phases;
}

// Sizes of the units; they do not depend on the number of threads.
void plan_blocks(TransposePlan& plan) {
  const ConvShape& s = plan.shape;
  // Whole strides, so that a block has equally many columns of each phase.
  const int64_t strides = std::max<int64_t>(1, kBlockColumns / s.stride[2]);
  plan.block_columns = std::clamp<int64_t>(s.out[2], 1, strides * s.stride[2]);
  plan.column_blocks = divide_up(s.out[2], plan.block_columns);
  plan.panel_count = divide_up(s.o, 16);
  const int64_t tile_columns = divide_up(plan.block_columns, s.stride[2]);
  plan.tile_panels = std::min(tile_panels(TileKind::kF32, tile_columns), 4);
  while (plan.tile_panels > 1 && plan.tile_panels > plan.panel_count) plan.tile_panels /= 2;
  plan.panel_blocks = divide_up(plan.panel_count, plan.tile_panels);
  const int64_t outer = std::max<int64_t>(1, s.n * plan.panel_blocks * plan.column_blocks);
  plan.block_rows = std::clamp<int64_t>(s.out[1] * outer / kWantedUnits, 1, 2 * s.stride[1]);
  plan.row_blocks = divide_up(s.out[1], plan.block_rows);
}

Result<TransposePlan> plan_transpose(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  TransposePlan plan;
  STOKER_ASSIGN(plan.shape, transposed_shape(desc));
  const ConvShape& s = plan.shape;
  if (params.group != 1) return unsupported("{} groups, expected 1", params.group);
  STOKER_ASSIGN(plan.row_phases, phases_of(s, 1));
  STOKER_ASSIGN(plan.column_phases, phases_of(s, 2));
  plan.groups = divide_up(s.c, 16);
  for (int64_t g = 0; g < plan.groups; ++g) plan.segments.push_back(g * s.in_pixels() * 64);
  EpilogueSite site;
  site.program = &params.epilogue;
  site.desc = &desc;
  STOKER_ASSIGN(plan.epilogue, Epilogue::make(site));
  plan_blocks(plan);
  return plan;
}

struct Scratch {
  float* values;  // [panel][column][16] of one output row
  const std::byte** rows;
  std::byte* region;
};

Scratch carve(const TransposePlan& plan, Carver& carver) {
  Scratch s{};
  s.values = carver.take<float>(plan.block_columns * plan.tile_panels * 16);
  s.rows = carver.take<const std::byte*>(plan.block_columns);
  s.region = carver.take<std::byte>(plan.epilogue.scratch_bytes());
  return s;
}

struct Place {
  int64_t image, panel, panels, row, column, columns;
};

// Columns first, first + stride, ... of the row: one phase.
void compute_phase(const TransposePlan& plan, const Launch& launch, const Place& p,
                   const std::vector<Tap>& row_taps, int64_t first, const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  const int64_t stride = s.stride[2], q0 = first / stride;
  const int64_t count = divide_up(p.column + p.columns - first, stride);
  const auto* x =
      static_cast<const std::byte*>(launch.inputs[0]) + p.image * plan.groups * s.in_pixels() * 64;
  float* values = scratch.values + (first - p.column) * 16;
  bool cleared = false;
  const auto clear = [&] {
    for (int64_t panel = 0; panel < p.panels; ++panel) {
      for (int64_t q = 0; q < count; ++q)
        std::memset(values + (panel * p.columns + q * stride) * 16, 0, 64);
    }
    cleared = true;
  };
  Block block;
  block.rows = scratch.rows;
  block.segments = plan.segments.data();
  block.segment_count = plan.groups;
  block.steps = 16;
  block.panel_bytes = plan.panel_bytes();
  block.panels = static_cast<int>(p.panels);
  block.tile_panels = plan.tile_panels;
  block.whole = true;
  block.value_row = stride * 16;
  block.value_panel = p.columns * 16;
  for (const Tap& h : row_taps) {
    const int64_t row = p.row / s.stride[1] + h.shift;
    if (row < 0 || row >= s.in[1]) continue;
    for (const Tap& w : plan.column_phases[static_cast<size_t>(first % stride)]) {
      const int64_t lo = std::clamp<int64_t>(-(q0 + w.shift), 0, count);
      const int64_t hi = std::clamp<int64_t>(s.in[2] - (q0 + w.shift), lo, count);
      if (lo == hi) continue;
      if (!cleared && hi - lo < count) clear();
      const std::byte* from = x + (row * s.in[2] + q0 + w.shift + lo) * 64;
      for (int64_t q = 0; q < hi - lo; ++q) scratch.rows[q] = from + q * 64;
      block.row_count = hi - lo;
      block.b = static_cast<const std::byte*>(launch.inputs[1]) + p.panel * plan.panel_bytes() +
                (h.kernel * s.kernel[2] + w.kernel) * plan.tap_bytes();
      block.values = values + lo * block.value_row;
      block.accumulate = cleared;
      run_block(block, [](const TileValues&, int64_t, int) {});
      cleared = true;
    }
  }
  if (!cleared) clear();
}

void finish_row(const TransposePlan& plan, const Launch& launch, const Place& p,
                const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  if (plan.epilogue.fused()) {
    TilePlace place;
    place.channel = p.panel * 16;
    const int64_t pixels = s.out[1] * s.out[2];
    place.offset =
        ((p.image * plan.panel_count + p.panel) * pixels + p.row * s.out[2] + p.column) * 16;
    place.row_stride = 16;
    place.panel_stride = pixels * 16;
    place.lanes = s.o - place.channel;
    place.zero_tail = true;
    const TileValues tile{
        scratch.values, 16, p.columns * 16, static_cast<int>(p.columns), static_cast<int>(p.panels),
        nullptr};
    plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
    return;
  }
  int64_t begin[kMaxRegionRank] = {p.image, p.panel, p.row, p.column, 0};
  int64_t extent[kMaxRegionRank] = {1, p.panels, 1, p.columns, 16};
  int64_t strides[kMaxRegionRank] = {0, p.columns * 16, 0, 16, 1};
  if (s.spatial_rank == 1) {
    for (int d = 2; d < 4; ++d) {
      begin[d] = begin[d + 1];
      extent[d] = extent[d + 1];
      strides[d] = strides[d + 1];
    }
  }
  plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs, scratch.values,
                             strides, scratch.region);
}

void transpose_unit(const TransposePlan& plan, const Launch& launch, int64_t unit) {
  Carver carver(launch.worker_workspace);
  const Scratch scratch = carve(plan, carver);
  const ConvShape& s = plan.shape;
  Place p{};
  p.column = unit % plan.column_blocks * plan.block_columns;
  p.columns = std::min(plan.block_columns, s.out[2] - p.column);
  unit /= plan.column_blocks;
  const int64_t first_row = unit % plan.row_blocks * plan.block_rows;
  unit /= plan.row_blocks;
  p.panel = unit % plan.panel_blocks * plan.tile_panels;
  p.panels = std::min<int64_t>(plan.tile_panels, plan.panel_count - p.panel);
  p.image = unit / plan.panel_blocks;
  const int64_t end = std::min(first_row + plan.block_rows, s.out[1]);
  for (p.row = first_row; p.row < end; ++p.row) {
    const auto& row_taps = plan.row_phases[static_cast<size_t>(p.row % s.stride[1])];
    for (int64_t c = p.column; c < p.column + std::min(s.stride[2], p.columns); ++c)
      compute_phase(plan, launch, p, row_taps, c, scratch);
    finish_row(plan, launch, p, scratch);
  }
}

Status supports(const Desc& desc) {
  for (size_t i = 0; i < 2; ++i) {
    if (desc.inputs[i].dtype != DType::kF32)
      return unsupported("operand {} is {}, expected f32", i, dtype_name(desc.inputs[i].dtype));
  }
  STOKER_ASSIGN(const ConvShape shape, transposed_shape(desc));
  STOKER_TRY(check_blocked_conv(desc, shape, Packing::kConvTransposeC16, true));
  if (shape.o < kMinFilters)
    return unsupported("{} output channels, expected {} or more", shape.o, kMinFilters);
  return plan_transpose(desc).status();
}

Packing packing(const Desc&, int index) {
  return index == 1 ? Packing::kConvTransposeC16 : Packing::kNone;
}
std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  return blocked_layouts(desc, Layout::kC16);
}

Workspace workspace(const Desc& desc, const Config&) {
  const auto plan = plan_transpose(desc);
  if (!plan) return {};
  Carver carver(nullptr);
  carve(*plan, carver);
  return {0, carver.bytes()};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  auto plan = plan_transpose(desc);
  if (!plan) return nullptr;
  return std::shared_ptr<const void>(std::make_unique<const TransposePlan>(std::move(*plan)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  const auto& plan = *static_cast<const TransposePlan*>(prepared);
  return plan.shape.n * plan.panel_blocks * plan.row_blocks * plan.column_blocks;
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const TransposePlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    transpose_unit(plan, launch, unit);
  return Status::ok();
}

}  // namespace

extern const Tactic conv_transpose_f32_c16;
const Tactic conv_transpose_f32_c16 = {
    .name = "conv_transpose_f32_c16",
    .family = Family::kConv,
    .supports = supports,
    .packing = packing,
    .layouts = layouts,
    .workspace = workspace,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
