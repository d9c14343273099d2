// General transposed convolution, f32: any groups, 1 to 3 spatial dims, weights read in place; x
// plain or in layout c16, y plain.
//   y[i * stride - pad + tap * dilation] += x[i] * w[tap]
// A unit owns a box of the output: filters x rows x columns of one depth. It packs the input rows
// that reach the box once, as panels of 16 pixels, and multiplies (filter, tap along the row) by
// them. Columns that are equal modulo the stride (a phase) lie together in the box, so that the
// products of neighbouring pixels are added in vectors; the epilogue takes row by row, its phases
// put in turn.
//   work   2 N C O taps H W flops and one addition per C products, which bounds few channels
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/cpu/conv/conv_transpose_boxes.h"
#include "kernels/cpu/copy/transpose.h"
#include "kernels/cpu/simd.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Where the products of a tap along the row go: pixel j of the packed ones to position begin + j of
// the phase at `row`, if that lies in 0..length.
struct TapPlace {
  int64_t row, begin, length;
};

struct Scratch {
  float* box;     // [filter][row][phase][column of the phase]
  float* lines;   // [filter][column] of one row; a stride of 1 needs none
  float* packed;  // [input row][panel][channel][16 pixels]
  float* tile;
  TapPlace* taps;             // along the row
  const std::byte** weights;  // (filter, tap along the row)
  std::byte* region;
};

Scratch carve(const BoxPlan& plan, Carver& carver) {
  Scratch s{};
  s.box = carver.take<float>(plan.box_filters * plan.box_rows * plan.box_row());
  if (plan.shape.stride[2] > 1) s.lines = carver.take<float>(plan.box_filters * plan.line());
  s.packed = carver.take<float>(plan.packed_rows * plan.packed_row_bytes() / 4);
  s.tile = carver.take<float>(kMaxTileElements);
  s.taps = carver.take<TapPlace>(plan.shape.kernel[2]);
  s.weights = carver.take<const std::byte*>(plan.box_filters * plan.shape.kernel[2]);
  s.region = carver.take<std::byte>(plan.epilogue.scratch_bytes());
  return s;
}

struct Place {
  int64_t image, group, filter, filters, depth;
  Range rows, columns;        // of the output
  Range in_rows, in_columns;  // of the input, as they are packed
};

// Pixels [column, column + lanes) of an input row: [channel][16], lanes behind them zero.
void pack_panel(const BoxPlan& plan, const float* x, int64_t first_channel, int64_t pixel,
                int64_t lanes, float* to) {
  const ConvShape& s = plan.shape;
  if (lanes < 16) std::memset(to, 0, static_cast<size_t>(plan.channels) * 64);
  if (!plan.blocked) {
    x += first_channel * s.in_pixels() + pixel;
    for (int64_t c = 0; c < plan.channels; ++c, x += s.in_pixels(), to += 16)
      std::memcpy(to, x, static_cast<size_t>(lanes) * 4);
    return;
  }
  for (int64_t c = 0; c < plan.channels;) {
    const int64_t channel = first_channel + c, lane = channel % 16;
    const int64_t count = std::min(16 - lane, plan.channels - c);
    transpose_block(count, lanes, x + (channel / 16 * s.in_pixels() + pixel) * 16 + lane,
                    int64_t{16}, to + c * 16, int64_t{16});
    c += count;
  }
}

void pack_rows(const BoxPlan& plan, const Place& p, const float* x, int64_t in_depth,
               float* packed) {
  const ConvShape& s = plan.shape;
  const int64_t stored = plan.blocked ? divide_up(s.c, 16) * 16 : s.c;
  x += p.image * stored * s.in_pixels();
  for (int64_t row = p.in_rows.begin; row < p.in_rows.end; ++row) {
    float* to = packed + (row - p.in_rows.begin) * plan.packed_row_bytes() / 4;
    for (int64_t c = p.in_columns.begin; c < p.in_columns.end; c += 16, to += plan.channels * 16) {
      pack_panel(plan, x, p.group * plan.channels, (in_depth * s.in[1] + row) * s.in[2] + c,
                 std::min<int64_t>(16, p.in_columns.end - c), to);
    }
  }
}

void set_taps(const BoxPlan& plan, const Place& p, TapPlace* taps) {
  const ConvShape& s = plan.shape;
  const int64_t stride = s.stride[2], columns = p.columns.count();
  for (int64_t k = 0; k < s.kernel[2]; ++k) {
    const int64_t first =
        p.in_columns.begin * stride - s.pad_begin[2] + k * s.dilation[2] - p.columns.begin;
    const int64_t phase = (first % stride + stride) % stride;
    taps[k] = {phase * plan.phase(), (first - phase) / stride,
               phase < columns ? divide_up(columns - phase, stride) : 0};
  }
}

// Adds the products of packed pixels [pixel, pixel + count).
STOKER_INLINE void add_products(const float* products, int64_t pixel, int64_t count,
                                const TapPlace& tap, float* row) {
  const int64_t begin = tap.begin + pixel;
  const int64_t lo = std::max<int64_t>(0, -begin), hi = std::min(count, tap.length - begin);
  float* y = row + tap.row + begin;
  int64_t j = lo;
  for (; j + kLanes <= hi; j += kLanes) store(y + j, load(y + j) + load(products + j));
  for (; j < hi; ++j) y[j] += products[j];
}

// A row with its phases put in turn.
void interleave(const BoxPlan& plan, const float* row, int64_t columns, float* line) {
  const int64_t stride = plan.shape.stride[2];
  if (stride == 2 && columns > 1) {
    const float *even = row, *odd = row + plan.phase();
    for (int64_t q = 0; q < columns / 2; ++q) {
      line[2 * q] = even[q];
      line[2 * q + 1] = odd[q];
    }
    if (columns % 2) line[columns - 1] = even[columns / 2];
    return;
  }
  for (int64_t phase = 0; phase < std::min(stride, columns); ++phase) {
    const float* from = row + phase * plan.phase();
    for (int64_t c = phase; c < columns; c += stride) line[c] = *from++;
  }
}

// One input row through the taps (depth, h) into row `row` of the box.
void multiply_row(const BoxPlan& plan, const Place& p, const float* packed, int64_t row,
                  const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  const int64_t segment = 0, taps = s.kernel[2], pixels = p.in_columns.count();
  Block block;
  block.rows = scratch.weights;
  block.row_count = p.filters * taps;
  block.segments = &segment;
  block.segment_count = 1;
  block.steps = plan.channels;
  block.step_bytes = plan.filters * s.taps() * 4;
  block.b = reinterpret_cast<const std::byte*>(packed);
  block.panel_bytes = plan.channels * 64;
  block.panels = static_cast<int>(divide_up(pixels, 16));
  block.tile_panels = plan.tile_panels;
  block.values = scratch.tile;
  run_block(block, [&](const TileValues& tile, int64_t first, int panel) {
    const int64_t pixel = int64_t{panel} * 16;
    const int64_t count = std::min<int64_t>(pixels - pixel, int64_t{tile.panels} * 16);
    int64_t filter = first / taps, tap = first % taps;
    for (int r = 0; r < tile.rows; ++r) {
      add_products(static_cast<const float*>(tile.data) + r * tile.row, pixel, count,
                   scratch.taps[tap],
                   scratch.box + (filter * plan.box_rows + row) * plan.box_row());
      if (++tap == taps) {
        tap = 0;
        ++filter;
      }
    }
  });
}

void compute_box(const BoxPlan& plan, const Launch& launch, const Place& p,
                 const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  std::memset(scratch.box, 0,
              static_cast<size_t>(p.filters * plan.box_rows * plan.box_row()) * sizeof(float));
  const auto* weight = static_cast<const std::byte*>(launch.inputs[1]);
  weight += (p.group * plan.channels * plan.filters + p.filter) * s.taps() * 4;
  set_taps(plan, p, scratch.taps);
  for (int64_t d = 0; d < s.kernel[0]; ++d) {
    const int64_t reached = p.depth + s.pad_begin[0] - d * s.dilation[0];
    if (reached < 0 || reached % s.stride[0] != 0 || reached / s.stride[0] >= s.in[0]) continue;
    pack_rows(plan, p, static_cast<const float*>(launch.inputs[0]), reached / s.stride[0],
              scratch.packed);
    for (int64_t h = 0; h < s.kernel[1]; ++h) {
      for (int64_t i = 0; i < p.filters * s.kernel[2]; ++i) {
        const int64_t tap = (d * s.kernel[1] + h) * s.kernel[2] + i % s.kernel[2];
        scratch.weights[i] = weight + (i / s.kernel[2] * s.taps() + tap) * 4;
      }
      for (int64_t row = p.in_rows.begin; row < p.in_rows.end; ++row) {
        const int64_t out = row * s.stride[1] - s.pad_begin[1] + h * s.dilation[1];
        if (out < p.rows.begin || out >= p.rows.end) continue;
        multiply_row(plan, p,
                     scratch.packed + (row - p.in_rows.begin) * plan.packed_row_bytes() / 4,
                     out - p.rows.begin, scratch);
      }
    }
  }
}

// The epilogue over output row `row`; `values` are [filter][column], filters `filter_step` apart.
void finish_row(const BoxPlan& plan, const Launch& launch, const Place& p, int64_t row,
                float* values, int64_t filter_step, std::byte* region_scratch) {
  const ConvShape& s = plan.shape;
  const int64_t channel = p.group * plan.filters + p.filter;
  if (plan.epilogue.fused()) {
    TilePlace place;
    place.channel = channel;
    place.offset = (p.image * s.o + channel) * s.out_pixels() +
                   (p.depth * s.out[1] + row) * s.out[2] + p.columns.begin;
    place.row_stride = s.out_pixels();
    place.panel_stride = 16;
    place.lanes = p.columns.count();
    const TileValues tile{values,
                          filter_step,
                          16,
                          static_cast<int>(p.filters),
                          static_cast<int>(divide_up(p.columns.count(), 16)),
                          nullptr};
    plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
    return;
  }
  const int64_t begins[3] = {p.depth, row, p.columns.begin};
  int64_t begin[kMaxRegionRank] = {p.image, channel}, extent[kMaxRegionRank] = {1, p.filters};
  int64_t strides[kMaxRegionRank] = {0, filter_step};
  for (int d = 0; d < s.spatial_rank; ++d) {
    const int from = 3 - s.spatial_rank + d;
    begin[d + 2] = begins[from];
    extent[d + 2] = from == 2 ? p.columns.count() : 1;
    strides[d + 2] = from == 2 ? 1 : 0;
  }
  plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs, values, strides,
                             region_scratch);
}

void finish_box(const BoxPlan& plan, const Launch& launch, const Place& p, const Scratch& scratch) {
  for (int64_t row = p.rows.begin; row < p.rows.end; ++row) {
    float* first = scratch.box + (row - p.rows.begin) * plan.box_row();
    const int64_t filter_step = plan.box_rows * plan.box_row();
    if (plan.shape.stride[2] == 1) {
      finish_row(plan, launch, p, row, first, filter_step, scratch.region);
      continue;
    }
    for (int64_t f = 0; f < p.filters; ++f)
      interleave(plan, first + f * filter_step, p.columns.count(), scratch.lines + f * plan.line());
    finish_row(plan, launch, p, row, scratch.lines, plan.line(), scratch.region);
  }
}

void transpose_unit(const BoxPlan& plan, const Launch& launch, int64_t unit) {
  Carver carver(launch.worker_workspace);
  const Scratch scratch = carve(plan, carver);
  const ConvShape& s = plan.shape;
  const auto take = [&](int64_t count) {
    const int64_t index = unit % count;
    unit /= count;
    return index;
  };
  Place p{};
  p.columns.begin = take(plan.column_blocks) * plan.box_columns;
  p.columns.end = std::min(p.columns.begin + plan.box_columns, s.out[2]);
  p.rows.begin = take(plan.row_blocks) * plan.box_rows;
  p.rows.end = std::min(p.rows.begin + plan.box_rows, s.out[1]);
  p.depth = take(s.out[0]);
  p.filter = take(plan.filter_blocks) * plan.box_filters;
  p.filters = std::min(plan.box_filters, plan.filters - p.filter);
  p.group = take(s.group);
  p.image = unit;
  p.in_rows = reaching(s, 1, p.rows.begin, p.rows.end);
  p.in_columns = reaching(s, 2, p.columns.begin, p.columns.end);
  compute_box(plan, launch, p, scratch);
  finish_box(plan, launch, p, scratch);
}

Status supports(const Desc& desc) {
  for (size_t i = 0; i < 2; ++i) {
    const TensorDesc& operand = desc.inputs[i];
    if (operand.dtype != DType::kF32)
      return unsupported("operand {} is {}, expected f32", i, dtype_name(operand.dtype));
    if (operand.packing != Packing::kNone || (i == 1 && operand.layout != Layout::kPlain))
      return unsupported("operand {} is not plain", i);
  }
  for (const TensorDesc& y : desc.outputs) {
    if (y.layout != Layout::kPlain) return unsupported("the output is not plain");
  }
  return plan_boxes(desc).status();
}

std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  std::vector<Layout> plain(desc.inputs.size() + desc.outputs.size(), Layout::kPlain);
  std::vector<Layout> blocked = plain;
  blocked[0] = Layout::kC16;
  return {plain, blocked};
}

Workspace workspace(const Desc& desc, const Config&) {
  const auto plan = plan_boxes(desc);
  if (!plan) return {};
  Carver carver(nullptr);
  carve(*plan, carver);
  return {0, carver.bytes()};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  auto plan = plan_boxes(desc);
  if (!plan) return nullptr;
  return std::shared_ptr<const void>(std::make_unique<const BoxPlan>(std::move(*plan)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  return static_cast<const BoxPlan*>(prepared)->units();
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const BoxPlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    transpose_unit(plan, launch, unit);
  return Status::ok();
}

}  // namespace

extern const Tactic conv_transpose_f32_plain;
const Tactic conv_transpose_f32_plain = {
    .name = "conv_transpose_f32_plain",
    .version = 2,
    .family = Family::kConv,
    .supports = supports,
    .layouts = layouts,
    .workspace = workspace,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
