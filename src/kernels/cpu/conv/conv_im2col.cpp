// General f32 convolution in plain layout: any groups, 1 to 3 spatial dims, constant or computed
// weights. A unit gathers the patches of some output pixels into panels of its worker's workspace
// and multiplies the weight, read in place, with them. The fallback for what the direct
// convolutions refuse.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/cpu/conv/conv_shape.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kPatchBytes = 512 << 10;  // of one unit, if a tile's panels fit
constexpr int64_t kMaxPatchBytes = 256 << 20;

struct Im2colPlan {
  ConvShape shape;
  int64_t k = 0, channels = 0, filters = 0;  // per group
  int64_t unit_panels = 1, pixel_blocks = 0;
  int tile_panels = 1;
  Epilogue epilogue;
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<Im2colPlan> plan_im2col(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  Im2colPlan plan;
  STOKER_ASSIGN(plan.shape, conv_shape(desc));
  const ConvShape& s = plan.shape;
  plan.channels = s.group ? s.c / s.group : 0;
  plan.filters = s.group ? s.o / s.group : 0;
  plan.k = plan.channels * s.taps();
  const int64_t panel_bytes = plan.k * 64, panels = divide_up(s.out_pixels(), 16);
  plan.tile_panels = std::min<int>(tile_panels(TileKind::kF32, plan.filters), kTilePanels * 2);
  plan.unit_panels = std::clamp<int64_t>(kPatchBytes / std::max<int64_t>(1, panel_bytes), 1, 32);
  const int64_t outer = std::max<int64_t>(1, s.n * s.group);
  plan.unit_panels =
      std::min(plan.unit_panels, std::max<int64_t>(1, divide_up(panels * outer, kWantedUnits)));
  plan.unit_panels =
      std::max<int64_t>(divide_up(plan.unit_panels, plan.tile_panels) * plan.tile_panels, 1);
  if (plan.unit_panels * panel_bytes > kMaxPatchBytes) {
    return unsupported("patches of {} values are too large", plan.k);
  }
  plan.pixel_blocks = divide_up(panels, plan.unit_panels);
  EpilogueSite site;
  site.program = &params.epilogue;
  site.desc = &desc;
  site.channels_in_rows = true;
  STOKER_ASSIGN(plan.epilogue, Epilogue::make(site));
  return plan;
}

struct Scratch {
  float* patches;
  float* values;
  int64_t* origins;  // of each pixel, per spatial dim
  const std::byte** rows;
  std::byte* region;
};

Scratch carve(const Im2colPlan& plan, Carver& carver) {
  Scratch s{};
  s.patches = carver.take<float>(plan.unit_panels * plan.k * 16);
  s.values = carver.take<float>(plan.epilogue.fused() ? kMaxTileElements
                                                      : plan.filters * plan.unit_panels * 16);
  s.origins = carver.take<int64_t>(plan.unit_panels * 16 * 3);
  s.rows = carver.take<const std::byte*>(plan.filters);
  s.region = carver.take<std::byte>(plan.epilogue.scratch_bytes());
  return s;
}

struct Place {
  int64_t image, group, pixel, pixels;
};

void set_origins(const ConvShape& s, const Place& p, int64_t* origins) {
  for (int64_t j = 0; j < p.pixels; ++j) {
    int64_t rest = p.pixel + j;
    for (size_t d = 3; d-- > 0;) {
      origins[j * 3 + static_cast<int64_t>(d)] = rest % s.out[d] * s.stride[d] - s.pad_begin[d];
      rest /= s.out[d];
    }
  }
}

// Row k of a panel: the values of 16 pixels under one tap of one channel.
void gather(const ConvShape& s, const float* x, const std::array<int64_t, 3>& tap,
            const int64_t* origins, int64_t lanes, float* to) {
  const int64_t shift[3] = {tap[0] * s.dilation[0], tap[1] * s.dilation[1], tap[2] * s.dilation[2]};
  for (int64_t j = 0; j < lanes; ++j) {
    const int64_t d = origins[j * 3] + shift[0], h = origins[j * 3 + 1] + shift[1],
                  w = origins[j * 3 + 2] + shift[2];
    const bool inside = static_cast<uint64_t>(d) < static_cast<uint64_t>(s.in[0]) &&
                        static_cast<uint64_t>(h) < static_cast<uint64_t>(s.in[1]) &&
                        static_cast<uint64_t>(w) < static_cast<uint64_t>(s.in[2]);
    to[j] = inside ? x[(d * s.in[1] + h) * s.in[2] + w] : 0.0f;
  }
  for (int64_t j = lanes; j < 16; ++j) to[j] = 0.0f;
}

// 16 neighbouring pixels of one row, all inside: one copy.
bool runs_inside(const ConvShape& s, const std::array<int64_t, 3>& tap, const int64_t* origins,
                 int64_t lanes, int64_t& first) {
  const int64_t d = origins[0] + tap[0] * s.dilation[0], h = origins[1] + tap[1] * s.dilation[1];
  const int64_t w = origins[2] + tap[2] * s.dilation[2];
  const int64_t* last = origins + (lanes - 1) * 3;
  if (s.stride[2] != 1 || lanes < 16 || last[0] != origins[0] || last[1] != origins[1])
    return false;
  if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1] || w < 0 || w + 16 > s.in[2]) return false;
  first = (d * s.in[1] + h) * s.in[2] + w;
  return last[2] - origins[2] == 15;
}

void gather_patches(const Im2colPlan& plan, const Place& p, const float* x,
                    const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  x += (p.image * s.c + p.group * plan.channels) * s.in_pixels();
  for (int64_t panel = 0; panel * 16 < p.pixels; ++panel) {
    const int64_t* origins = scratch.origins + panel * 48;
    const int64_t lanes = std::min<int64_t>(16, p.pixels - panel * 16);
    float* to = scratch.patches + panel * plan.k * 16;
    for (int64_t c = 0; c < plan.channels; ++c) {
      const float* plane = x + c * s.in_pixels();
      std::array<int64_t, 3> tap;
      for (tap[0] = 0; tap[0] < s.kernel[0]; ++tap[0]) {
        for (tap[1] = 0; tap[1] < s.kernel[1]; ++tap[1]) {
          for (tap[2] = 0; tap[2] < s.kernel[2]; ++tap[2], to += 16) {
            int64_t first = 0;
            if (runs_inside(s, tap, origins, lanes, first))
              std::memcpy(to, plane + first, 64);
            else
              gather(s, plane, tap, origins, lanes, to);
          }
        }
      }
    }
  }
}

// The general epilogue in runs along the innermost spatial dim, since pixels of a unit are no box.
void run_region(const Im2colPlan& plan, const Place& p, const Launch& launch,
                const Scratch& scratch) {
  const ConvShape& s = plan.shape;
  const int rank = plan.epilogue.region().rank();
  int64_t begin[kMaxRegionRank] = {p.image, p.group * plan.filters},
          extent[kMaxRegionRank] = {1, plan.filters};
  int64_t strides[kMaxRegionRank] = {0, plan.unit_panels * 16};
  std::fill(extent + 2, extent + rank, 1);
  strides[rank - 1] = 1;
  for (int64_t pixel = p.pixel; pixel < p.pixel + p.pixels;) {
    int64_t rest = pixel;
    for (int d = rank - 1; d >= 2; --d) {
      const auto spatial = static_cast<size_t>(d - rank + 3);
      begin[d] = rest % s.out[spatial];
      rest /= s.out[spatial];
    }
    extent[rank - 1] = std::min(s.out[2] - begin[rank - 1], p.pixel + p.pixels - pixel);
    plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs,
                               scratch.values + (pixel - p.pixel), strides, scratch.region);
    pixel += extent[rank - 1];
  }
}

void im2col_unit(const Im2colPlan& plan, const Launch& launch, int64_t unit) {
  Carver carver(launch.worker_workspace);
  const Scratch scratch = carve(plan, carver);
  const ConvShape& s = plan.shape;
  Place p{};
  p.pixel = unit % plan.pixel_blocks * plan.unit_panels * 16;
  p.pixels = std::min(plan.unit_panels * 16, s.out_pixels() - p.pixel);
  p.group = unit / plan.pixel_blocks % s.group;
  p.image = unit / plan.pixel_blocks / s.group;
  set_origins(s, p, scratch.origins);
  gather_patches(plan, p, static_cast<const float*>(launch.inputs[0]), scratch);
  const auto* weight =
      static_cast<const std::byte*>(launch.inputs[1]) + p.group * plan.filters * plan.k * 4;
  for (int64_t o = 0; o < plan.filters; ++o) scratch.rows[o] = weight + o * plan.k * 4;

  const int64_t segment = 0;
  Block block;
  block.rows = scratch.rows;
  block.row_count = plan.filters;
  block.segments = &segment;
  block.segment_count = 1;
  block.steps = plan.k;
  block.b = reinterpret_cast<const std::byte*>(scratch.patches);
  block.panel_bytes = plan.k * 64;
  block.panels = static_cast<int>(divide_up(p.pixels, 16));
  block.tile_panels = plan.tile_panels;
  block.values = scratch.values;
  block.whole = !plan.epilogue.fused();
  block.value_row = plan.unit_panels * 16;
  block.value_panel = 16;
  run_block(block, [&](const TileValues& tile, int64_t row, int panel) {
    if (!plan.epilogue.fused()) return;
    TilePlace place;
    place.channel = p.group * plan.filters + row;
    place.offset = (p.image * s.o + place.channel) * s.out_pixels() + p.pixel + panel * 16;
    place.row_stride = s.out_pixels();
    place.panel_stride = 16;
    place.lanes = p.pixels - panel * 16;
    plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
  });
  if (!plan.epilogue.fused()) run_region(plan, p, launch, scratch);
}

Status supports(const Desc& desc) {
  for (size_t i = 0; i < 2; ++i) {
    const TensorDesc& operand = desc.inputs[i];
    if (operand.dtype != DType::kF32)
      return unsupported("operand {} is {}, expected f32", i, dtype_name(operand.dtype));
    if (operand.layout != Layout::kPlain || operand.packing != Packing::kNone) {
      return unsupported("operand {} is not plain", i);
    }
  }
  for (const TensorDesc& y : desc.outputs) {
    if (y.layout != Layout::kPlain) return unsupported("the output is not plain");
  }
  return plan_im2col(desc).status();
}

Workspace workspace(const Desc& desc, const Config&) {
  const auto plan = plan_im2col(desc);
  if (!plan) return {};
  Carver carver(nullptr);
  carve(*plan, carver);
  return {0, carver.bytes()};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  auto plan = plan_im2col(desc);
  if (!plan) return nullptr;
  return std::shared_ptr<const void>(std::make_unique<const Im2colPlan>(std::move(*plan)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  const auto& plan = *static_cast<const Im2colPlan*>(prepared);
  return plan.filters == 0 ? 0 : plan.shape.n * plan.shape.group * plan.pixel_blocks;
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const Im2colPlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    im2col_unit(plan, launch, unit);
  return Status::ok();
}

}  // namespace

extern const Tactic conv_f32_im2col;
const Tactic conv_f32_im2col = {
    .name = "conv_f32_im2col",
    .family = Family::kConv,
    .supports = supports,
    .workspace = workspace,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
