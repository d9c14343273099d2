// Direct convolution over tiles of output pixels, see conv_plan.h. Units: (image, rows of output,
// columns, panels of output channels); their sizes do not depend on the number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv/conv_plan.h"

#include <cstring>

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kBlockTiles = 28;  // pixels of a block, in tiles
constexpr int64_t kCopyUnitBytes = 32 << 10;
constexpr int64_t kSmallCopy = 64 << 20;  // padded copies up to here are always fine

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The input as the tiles read it.
Status plan_input(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  plan.copy = s.padded() || (plan.stem && plan.kind != TileKind::kF32);
  plan.height = s.in[1] + s.pad_begin[1] + s.pad_end[1];
  plan.width = s.in[2] + s.pad_begin[2] + s.pad_end[2];
  if (plan.stem) {
    const bool f32 = plan.kind == TileKind::kF32;
    plan.planes = f32 ? s.c : 1;
    plan.pixel_bytes = f32 ? 4 : divide_up(s.c, 4) * 4;
  } else {
    plan.planes = divide_up(s.c, 16);
    plan.pixel_bytes = 16 * plan.element_bytes;
  }
  int64_t total = plan.pixel_bytes;
  bool fits = true;
  const auto times = [&](int64_t factor) {
    fits = fits && !__builtin_mul_overflow(total, factor, &total);
    return total;
  };
  plan.row_bytes = times(plan.width);
  plan.plane_bytes = times(plan.height);
  plan.image_bytes = times(plan.planes);
  times(s.n);
  const int64_t own = s.n * s.c * s.in_pixels() * plan.element_bytes;
  if (!fits || (plan.copy && total > kSmallCopy && total / 4 > own)) {
    return unsupported("the padded input would be far larger than the input");
  }
  plan.copy_rows = std::max<int64_t>(1, kCopyUnitBytes / std::max<int64_t>(1, plan.row_bytes));
  plan.copy_blocks = divide_up(plan.height, plan.copy_rows);
  return Status::ok();
}

void plan_segments(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const int64_t tap_row = s.dilation[1] * plan.row_bytes, tap = s.dilation[2] * plan.pixel_bytes;
  const bool f32 = plan.kind == TileKind::kF32;
  // Taps of a kernel row run together where they lie at one distance in the input.
  const bool rows_run = plan.stem && (f32 || (s.dilation[2] == 1));
  plan.step_bytes = plan.stem && f32 ? tap : 4;
  const int64_t tap_steps = plan.stem ? (f32 ? 1 : plan.pixel_bytes / 4) : (f32 ? 16 : 4);
  plan.steps = rows_run ? tap_steps * s.kernel[2] : tap_steps;
  for (int64_t plane = 0; plane < plan.planes; ++plane) {
    for (int64_t h = 0; h < s.kernel[1]; ++h) {
      for (int64_t w = 0; w < (rows_run ? 1 : s.kernel[2]); ++w) {
        plan.segments.push_back(plane * plan.plane_bytes + h * tap_row + w * tap);
      }
    }
  }
  plan.panel_count = divide_up(s.o, 16);
  plan.panel_bytes = static_cast<int64_t>(plan.segments.size()) * plan.steps * 64;
}

void plan_blocks(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const int64_t rows = s.out[1], columns = s.out[2];
  plan.tile_panels =
      plan.panel_count == 1 ? 1 : std::min(tile_panels(plan.kind, rows * columns), 4);
  while (plan.tile_panels > 1 && plan.tile_panels > plan.panel_count) plan.tile_panels /= 2;
  plan.unit_panels = plan.tile_panels;
  plan.panel_blocks = divide_up(plan.panel_count, plan.unit_panels);
  const int64_t height = tile_rows(plan.kind, plan.tile_panels);
  int64_t pixels = height * kBlockTiles;
  while (true) {
    plan.column_blocks = std::max<int64_t>(1, divide_up(columns, pixels + pixels / 2));
    plan.block_columns = std::max<int64_t>(1, divide_up(columns, plan.column_blocks));
    plan.column_blocks = divide_up(columns, plan.block_columns);
    const int64_t wanted =
        plan.column_blocks > 1 ? 1 : std::max<int64_t>(1, pixels / std::max<int64_t>(1, columns));
    plan.row_blocks = divide_up(rows, wanted);
    plan.block_rows = std::max<int64_t>(1, divide_up(rows, std::max<int64_t>(1, plan.row_blocks)));
    plan.row_blocks = divide_up(rows, plan.block_rows);
    const int64_t units = s.n * plan.row_blocks * plan.column_blocks * plan.panel_blocks;
    if (units >= kWantedUnits || pixels <= 2 * height) break;
    pixels /= 2;
  }
  plan.weights_outer = plan.panel_count * plan.panel_bytes > plan.image_bytes;
}

struct Scratch {
  float* values;
  const std::byte** rows;
  int32_t* lane_terms;
  int32_t* row_terms;
  std::byte* region;
};

Scratch carve(const ConvPlan& plan, Carver& carver) {
  Scratch s{};
  const int64_t pixels = plan.block_rows * plan.block_columns;
  s.values =
      carver.take<float>(plan.epilogue.fused() ? kMaxTileElements : pixels * plan.unit_panels * 16);
  s.rows = carver.take<const std::byte*>(pixels);
  if (plan.kind != TileKind::kF32) {
    s.lane_terms = carver.take<int32_t>(plan.unit_panels * 16);
    s.row_terms = carver.take<int32_t>(pixels);
  }
  s.region = carver.take<std::byte>(plan.epilogue.scratch_bytes());
  return s;
}

struct Place {
  int64_t image = 0, row = 0, rows = 0, column = 0, columns = 0, panel = 0, panels = 0;
  int64_t pixels() const { return rows * columns; }
};

Place place_of(const ConvPlan& plan, int64_t unit) {
  Place p;
  const int64_t pixel_blocks = plan.row_blocks * plan.column_blocks;
  const int64_t per_image = pixel_blocks * plan.panel_blocks;
  p.image = unit / per_image;
  unit %= per_image;
  const int64_t panel_block = plan.weights_outer ? unit / pixel_blocks : unit % plan.panel_blocks;
  const int64_t pixel_block = plan.weights_outer ? unit % pixel_blocks : unit / plan.panel_blocks;
  p.row = pixel_block / plan.column_blocks * plan.block_rows;
  p.rows = std::min(plan.block_rows, plan.shape.out[1] - p.row);
  p.column = pixel_block % plan.column_blocks * plan.block_columns;
  p.columns = std::min(plan.block_columns, plan.shape.out[2] - p.column);
  p.panel = panel_block * plan.unit_panels;
  p.panels = std::min(plan.unit_panels, plan.panel_count - p.panel);
  return p;
}

void set_rows(const ConvPlan& plan, const Place& p, const std::byte* x, const Scratch& s) {
  x += p.image * plan.image_bytes;
  const std::byte** to = s.rows;
  for (int64_t r = p.row; r < p.row + p.rows; ++r) {
    const std::byte* line = x + r * plan.shape.stride[1] * plan.row_bytes;
    const int64_t step = plan.shape.stride[2] * plan.pixel_bytes;
    for (int64_t q = p.column; q < p.column + p.columns; ++q) *to++ = line + q * step;
  }
}

int32_t x_zero(const Launch& launch) {
  const auto& params = launch.desc->as<ConvParams>();
  return zero_point(*launch.desc, launch.inputs, params.x_zero_input, params.x_zero);
}

void set_terms(const ConvPlan& plan, const ZeroPoints& zeros, const Place& p,
               const std::byte* weight, const Scratch& s) {
  const int64_t k = plan.shape.c * plan.shape.taps();
  const auto* sums =
      reinterpret_cast<const int32_t*>(weight + plan.panel_count * plan.panel_bytes) + p.panel * 16;
  for (int64_t j = 0; j < p.panels * 16; ++j) {
    // Lanes past the last channel keep their zero.
    const bool real = p.panel * 16 + j < plan.shape.o;
    s.lane_terms[j] = real ? zeros.column(sums[j], k) : 0;
  }
  if (zeros.b_zero == 0) return;
  for (int64_t q = 0; q < p.pixels(); ++q) {
    int32_t sum = 0;
    for (const int64_t segment : plan.segments) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(s.rows[q] + segment);
      for (int64_t i = 0; i < plan.steps * 4; ++i) {
        sum += plan.kind == TileKind::kI8 ? static_cast<int8_t>(bytes[i]) : bytes[i];
      }
    }
    s.row_terms[q] = zeros.row(sum, k);
  }
}

void run_region(const ConvPlan& plan, const Place& p, const Launch& launch, const Scratch& s) {
  const int rank = plan.epilogue.region().rank();  // 5, or 4 for one spatial dim
  int64_t begin[kMaxRegionRank] = {p.image, p.panel}, extent[kMaxRegionRank] = {1, p.panels};
  int64_t strides[kMaxRegionRank] = {0, p.pixels() * 16};
  int d = 2;
  if (rank == 5) {
    begin[d] = p.row;
    extent[d] = p.rows;
    strides[d++] = p.columns * 16;
  }
  begin[d] = p.column;
  extent[d] = p.columns;
  strides[d++] = 16;
  begin[d] = 0;
  extent[d] = 16;
  strides[d] = 1;
  plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs, s.values, strides,
                             s.region);
}

// One row of the padded copy. `from` is null for rows of padding.
void copy_row_c16(const ConvPlan& plan, int64_t plane, std::byte pad_byte, const std::byte* from,
                  std::byte* to) {
  const ConvShape& s = plan.shape;
  const int64_t left = s.pad_begin[2], inner = from ? s.in[2] : 0;
  std::memset(to, 0, static_cast<size_t>(plan.row_bytes));
  if (from)
    std::memcpy(to + left * plan.pixel_bytes, from, static_cast<size_t>(inner * plan.pixel_bytes));
  if (pad_byte == std::byte{0}) return;
  const auto lanes = static_cast<size_t>(std::min<int64_t>(16, s.c - plane * 16));
  for (int64_t q = 0; q < plan.width; ++q) {
    if (q == left) q += inner;
    if (q < plan.width)
      std::memset(to + q * plan.pixel_bytes, std::to_integer<int>(pad_byte), lanes);
  }
}

void copy_row_stem(const ConvPlan& plan, int64_t plane, std::byte pad_byte, const std::byte* from,
                   std::byte* to) {
  const ConvShape& s = plan.shape;
  const int64_t left = s.pad_begin[2], channels = plan.kind == TileKind::kF32 ? 1 : s.c;
  if (plan.kind == TileKind::kF32) return copy_row_c16(plan, plane, pad_byte, from, to);
  std::memset(to, 0, static_cast<size_t>(plan.row_bytes));
  for (int64_t q = 0; q < plan.width; ++q) {
    const bool inside = from && q >= left && q < left + s.in[2];
    for (int64_t c = 0; c < channels; ++c) {
      to[q * plan.pixel_bytes + c] = inside ? from[c * s.in_pixels() + q - left] : pad_byte;
    }
  }
}

}  // namespace

int64_t ConvPlan::units(int phase) const {
  if (copy && phase == 0) return shape.n * planes * copy_blocks;
  return shape.n * row_blocks * column_blocks * panel_blocks;
}

Result<ConvPlan> plan_conv(const Desc& desc, TileKind kind, bool stem) {
  const auto& params = desc.as<ConvParams>();
  ConvPlan plan;
  STOKER_ASSIGN(plan.shape, conv_shape(desc));
  if (params.group != 1) return unsupported("{} groups, expected 1", params.group);
  plan.kind = kind;
  plan.stem = stem;
  plan.element_bytes = kind == TileKind::kF32 ? 4 : 1;
  if (kind != TileKind::kF32) {
    plan.zeros =
        ZeroPoints(params.x_zero, desc.inputs[0].dtype, params.w_zero, desc.inputs[1].dtype);
  }
  STOKER_TRY(plan_input(plan));
  plan_segments(plan);
  EpilogueSite site;
  site.program = &params.epilogue;
  site.desc = &desc;
  site.accumulator = kind == TileKind::kF32 ? DType::kF32 : DType::kI32;
  STOKER_ASSIGN(plan.epilogue, Epilogue::make(site));
  plan_blocks(plan);
  return plan;
}

int64_t conv_worker_bytes(const ConvPlan& plan) {
  Carver carver(nullptr);
  carve(plan, carver);
  return carver.bytes();
}

void conv_copy_unit(const ConvPlan& plan, const Launch& launch, std::byte* copied, int64_t unit) {
  const ConvShape& s = plan.shape;
  const auto pad_byte = static_cast<std::byte>(plan.kind == TileKind::kF32 ? 0 : x_zero(launch));
  const int64_t plane = unit / plan.copy_blocks, first = unit % plan.copy_blocks * plan.copy_rows;
  const int64_t image = plane / plan.planes,
                in_row = s.in[2] * (plan.stem ? plan.element_bytes : plan.pixel_bytes);
  // A plane of the source; the 8-bit stem reads all planes of the image at once.
  const int64_t source_plane = plan.stem && plan.kind != TileKind::kF32 ? image * s.c : plane;
  const std::byte* source =
      static_cast<const std::byte*>(launch.inputs[0]) + source_plane * s.in[1] * in_row;
  for (int64_t row = first; row < std::min(first + plan.copy_rows, plan.height); ++row) {
    const int64_t y = row - s.pad_begin[1];
    const std::byte* from = y >= 0 && y < s.in[1] ? source + y * in_row : nullptr;
    std::byte* to = copied + plane * plan.plane_bytes + row * plan.row_bytes;
    if (plan.stem)
      copy_row_stem(plan, plane % plan.planes, pad_byte, from, to);
    else
      copy_row_c16(plan, plane % plan.planes, pad_byte, from, to);
  }
}

void conv_unit(const ConvPlan& plan, const Launch& launch, const std::byte* x, int64_t unit) {
  Carver carver(launch.worker_workspace);
  const Scratch s = carve(plan, carver);
  const Place p = place_of(plan, unit);
  const auto* weight = static_cast<const std::byte*>(launch.inputs[1]);
  const bool integers = plan.kind != TileKind::kF32;
  set_rows(plan, p, x, s);
  if (integers) {
    ZeroPoints zeros = plan.zeros;
    zeros.set_a(x_zero(launch), launch.desc->inputs[0].dtype);
    set_terms(plan, zeros, p, weight, s);
  }

  Block block;
  block.kind = plan.kind;
  block.rows = s.rows;
  block.row_count = p.pixels();
  block.segments = plan.segments.data();
  block.segment_count = static_cast<int64_t>(plan.segments.size());
  block.steps = plan.steps;
  block.step_bytes = plan.step_bytes;
  block.b = weight + p.panel * plan.panel_bytes;
  block.panel_bytes = plan.panel_bytes;
  block.panels = static_cast<int>(p.panels);
  block.tile_panels = plan.tile_panels;
  block.values = s.values;
  block.whole = !plan.epilogue.fused();
  block.value_row = 16;
  block.value_panel = p.pixels() * 16;
  const int64_t pixels = plan.shape.out[1] * plan.shape.out[2];
  run_block(block, [&](TileValues tile, int64_t row, int panel) {
    if (integers && plan.zeros.b_zero != 0) add_row_terms(tile, s.row_terms + row);
    if (!plan.epilogue.fused()) {
      if (integers) add_lane_terms(tile, s.lane_terms + panel * 16);
      return;
    }
    if (integers) tile.add = s.lane_terms + panel * 16;
    TilePlace place;
    place.channel = (p.panel + panel) * 16;
    const int64_t pixel = p.row * plan.shape.out[2] + p.column + row;
    place.offset = ((p.image * plan.panel_count + p.panel + panel) * pixels + pixel) * 16;
    place.row_stride = 16;
    place.panel_stride = pixels * 16;
    place.lanes = plan.shape.o - place.channel;
    place.zero_tail = true;
    plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
  });
  if (!plan.epilogue.fused()) run_region(plan, p, launch, s);
}

}  // namespace stoker::cpu
