// General transposed convolution, f32: any groups, 1 to 3 spatial dims, weights read in place; x
// plain or in layout c16, y plain.
//   y[i * stride - pad + tap * dilation] += x[i] * w[tap]
// A unit owns a box of the output: filters x rows x columns of one depth. It packs the input rows
// that reach the box once, as panels of 16 pixels, multiplies (filter, tap along the row) by them
// and adds each product where it belongs in the box, which stays in L2; then the epilogue runs.
//   work   2 N C O taps H W flops and one strided addition per C products, which bounds few
//   channels limit  the additions are scalar where the stride along a row is not 1
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/cpu/conv/conv_shape.h"
#include "kernels/cpu/copy/transpose.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kBoxFloats = 64 << 10;     // of the output box
constexpr int64_t kPackedBytes = 256 << 10;  // of the input rows, if one row fits
constexpr int64_t kMaxPackedBytes = 256 << 20;
constexpr int64_t kMaxBoxFilters = 64, kMaxBoxColumns = 4096;

struct TransposePlan {
  ConvShape shape;
  bool blocked = false;               // x in c16
  int64_t channels = 0, filters = 0;  // per group
  int64_t box_filters = 1, box_rows = 1, box_columns = 1;
  int64_t filter_blocks = 0, row_blocks = 0, column_blocks = 0;
  int64_t packed_rows = 0, packed_panels = 0;  // at most, per unit and kernel depth
  int tile_panels = 1;
  Epilogue epilogue;

  int64_t box_row() const { return (box_columns + 15) / 16 * 16; }
  int64_t units() const {
    return shape.n * shape.group * filter_blocks * shape.out[0] * row_blocks * column_blocks;
  }
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

// Input positions that reach outputs [begin, end) through some tap.
Range reaching(const ConvShape& s, size_t d, int64_t begin, int64_t end) {
  const int64_t first = begin + s.pad_begin[d] - (s.kernel[d] - 1) * s.dilation[d];
  const int64_t last = end - 1 + s.pad_begin[d];
  const int64_t lo = first <= 0 ? 0 : std::min(divide_up(first, s.stride[d]), s.in[d]);
  return {lo, std::clamp(last / s.stride[d] + 1, lo, s.in[d])};
}

// At most that many input positions reach `count` outputs in a row.
int64_t most_reaching(const ConvShape& s, size_t d, int64_t count) {
  return std::min(s.in[d], (count - 1 + (s.kernel[d] - 1) * s.dilation[d]) / s.stride[d] + 1);
}

int64_t row_bytes(const TransposePlan& plan) { return plan.packed_panels * plan.channels * 64; }

void plan_boxes(TransposePlan& plan) {
  const ConvShape& s = plan.shape;
  plan.box_filters = std::clamp<int64_t>(plan.filters, 1, kMaxBoxFilters);
  plan.filter_blocks = divide_up(plan.filters, plan.box_filters);
  const int64_t pixel_bytes = std::max<int64_t>(1, plan.channels) * 4;
  const int64_t pixels = std::clamp<int64_t>(kPackedBytes / pixel_bytes, 16, kMaxBoxColumns);
  const int64_t stride = std::min(s.stride[2], kMaxBoxColumns);
  plan.box_columns = std::clamp<int64_t>(s.out[2], 1, std::min(pixels * stride, kMaxBoxColumns));
  plan.box_columns = std::min(plan.box_columns, divide_up(kBoxFloats, plan.box_filters * 16) * 16);
  plan.column_blocks = divide_up(s.out[2], plan.box_columns);
  plan.packed_panels = divide_up(most_reaching(s, 2, plan.box_columns), 16);
  const auto units_of = [&](int64_t rows) {
    plan.row_blocks = divide_up(s.out[1], rows);
    return plan.units();
  };
  while (plan.box_rows < s.out[1] && units_of(plan.box_rows * 2) >= kWantedUnits &&
         plan.box_rows * 2 * plan.box_filters * plan.box_row() <= kBoxFloats &&
         most_reaching(s, 1, plan.box_rows * 2) * row_bytes(plan) <= 2 * kPackedBytes) {
    plan.box_rows *= 2;
  }
  plan.row_blocks = divide_up(s.out[1], plan.box_rows);
  plan.packed_rows = most_reaching(s, 1, plan.box_rows);
  plan.tile_panels = tile_panels(TileKind::kF32, plan.box_filters * s.kernel[2]);
}

Result<TransposePlan> plan_transpose(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  TransposePlan plan;
  STOKER_ASSIGN(plan.shape, transposed_shape(desc));
  const ConvShape& s = plan.shape;
  plan.blocked = desc.inputs[0].layout == Layout::kC16;
  plan.channels = s.c / s.group;
  plan.filters = s.o / s.group;
  plan_boxes(plan);
  const double packed =
      static_cast<double>(plan.packed_rows) * static_cast<double>(row_bytes(plan));
  const double taps = static_cast<double>(s.kernel[2]) * static_cast<double>(plan.box_filters);
  if (packed > kMaxPackedBytes || taps > kMaxPackedBytes)
    return unsupported("a window of {} x {} is too large", s.kernel[1], s.kernel[2]);
  EpilogueSite site;
  site.program = &params.epilogue;
  site.desc = &desc;
  site.channels_in_rows = true;
  STOKER_ASSIGN(plan.epilogue, Epilogue::make(site));
  return plan;
}

struct Scratch {
  float* box;     // [filter][row][column]
  float* packed;  // [input row][panel][channel][16 pixels]
  float* tile;
  const std::byte** weights;  // (filter, tap along the row)
  std::byte* region;
};

Scratch carve(const TransposePlan& plan, Carver& carver) {
  Scratch s{};
  s.box = carver.take<float>(plan.box_filters * plan.box_rows * plan.box_row());
  s.packed = carver.take<float>(plan.packed_rows * row_bytes(plan) / 4);
  s.tile = carver.take<float>(kMaxTileElements);
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
void pack_panel(const TransposePlan& plan, const float* x, int64_t first_channel, int64_t pixel,
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

void pack_rows(const TransposePlan& plan, const Place& p, const float* x, int64_t in_depth,
               float* packed) {
  const ConvShape& s = plan.shape;
  const int64_t stored = plan.blocked ? divide_up(s.c, 16) * 16 : s.c;
  x += p.image * stored * s.in_pixels();
  for (int64_t row = p.in_rows.begin; row < p.in_rows.end; ++row) {
    float* to = packed + (row - p.in_rows.begin) * row_bytes(plan) / 4;
    for (int64_t c = p.in_columns.begin; c < p.in_columns.end; c += 16, to += plan.channels * 16) {
      pack_panel(plan, x, p.group * plan.channels, (in_depth * s.in[1] + row) * s.in[2] + c,
                 std::min<int64_t>(16, p.in_columns.end - c), to);
    }
  }
}

// Adds products of neighbouring pixels to y, which lies `shift` columns from the first one.
void add_row(const float* products, int64_t count, int64_t shift, int64_t stride, int64_t columns,
             float* y) {
  const int64_t lo = shift >= 0 ? 0 : divide_up(-shift, stride);
  const int64_t hi = shift >= columns ? 0 : std::min(count, (columns - 1 - shift) / stride + 1);
  if (stride == 1) {
    for (int64_t j = lo; j < hi; ++j) y[shift + j] += products[j];
    return;
  }
  for (int64_t j = lo; j < hi; ++j) y[shift + j * stride] += products[j];
}

// One input row through the taps (depth, h) into row `row` of the box.
void multiply_row(const TransposePlan& plan, const Place& p, const float* packed, int64_t row,
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
    const int64_t origin =
        (p.in_columns.begin + pixel) * s.stride[2] - s.pad_begin[2] - p.columns.begin;
    for (int r = 0; r < tile.rows; ++r) {
      const int64_t filter = (first + r) / taps, tap = (first + r) % taps;
      add_row(static_cast<const float*>(tile.data) + r * tile.row, count,
              origin + tap * s.dilation[2], s.stride[2], p.columns.count(),
              scratch.box + (filter * plan.box_rows + row) * plan.box_row());
    }
  });
}

void compute_box(const TransposePlan& plan, const Launch& launch, const Place& p,
                 const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  std::memset(scratch.box, 0,
              static_cast<size_t>(p.filters * plan.box_rows * plan.box_row()) * sizeof(float));
  const auto* weight = static_cast<const std::byte*>(launch.inputs[1]);
  weight += (p.group * plan.channels * plan.filters + p.filter) * s.taps() * 4;
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
        multiply_row(plan, p, scratch.packed + (row - p.in_rows.begin) * row_bytes(plan) / 4,
                     out - p.rows.begin, scratch);
      }
    }
  }
}

void finish_box(const TransposePlan& plan, const Launch& launch, const Place& p,
                const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  const int64_t channel = p.group * plan.filters + p.filter;
  if (plan.epilogue.fused()) {
    TilePlace place;
    place.channel = channel;
    place.row_stride = s.out_pixels();
    place.panel_stride = 16;
    place.lanes = p.columns.count();
    for (int64_t row = p.rows.begin; row < p.rows.end; ++row) {
      place.offset = (p.image * s.o + channel) * s.out_pixels() +
                     (p.depth * s.out[1] + row) * s.out[2] + p.columns.begin;
      const TileValues tile{scratch.box + (row - p.rows.begin) * plan.box_row(),
                            plan.box_rows * plan.box_row(),
                            16,
                            static_cast<int>(p.filters),
                            static_cast<int>(divide_up(p.columns.count(), 16)),
                            nullptr};
      plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
    }
    return;
  }
  const int64_t begins[3] = {p.depth, p.rows.begin, p.columns.begin};
  const int64_t extents[3] = {1, p.rows.count(), p.columns.count()};
  const int64_t steps[3] = {0, plan.box_row(), 1};
  int64_t begin[kMaxRegionRank] = {p.image, channel}, extent[kMaxRegionRank] = {1, p.filters};
  int64_t strides[kMaxRegionRank] = {0, plan.box_rows * plan.box_row()};
  for (int d = 0; d < s.spatial_rank; ++d) {
    const int from = 3 - s.spatial_rank + d;
    begin[d + 2] = begins[from];
    extent[d + 2] = extents[from];
    strides[d + 2] = steps[from];
  }
  plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs, scratch.box, strides,
                             scratch.region);
}

void transpose_unit(const TransposePlan& plan, const Launch& launch, int64_t unit) {
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
  return plan_transpose(desc).status();
}

std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  std::vector<Layout> plain(desc.inputs.size() + desc.outputs.size(), Layout::kPlain);
  std::vector<Layout> blocked = plain;
  blocked[0] = Layout::kC16;
  return {plain, blocked};
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
  return static_cast<const TransposePlan*>(prepared)->units();
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const TransposePlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    transpose_unit(plan, launch, unit);
  return Status::ok();
}

}  // namespace

extern const Tactic conv_transpose_f32_plain;
const Tactic conv_transpose_f32_plain = {
    .name = "conv_transpose_f32_plain",
    .family = Family::kConv,
    .supports = supports,
    .layouts = layouts,
    .workspace = workspace,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
