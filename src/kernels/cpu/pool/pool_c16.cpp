// Tactic pool_c16: max and average pooling in layout c16, 16 channels a step.
//   y[o] = max or mean over the taps of x[o * stride - pad + tap * dilation]
//   bound  L1 loads: one per tap and 16 channels; global pooling: memory
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pool/pool_geometry.h"
#include "kernels/cpu/region/tile_ops.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kUnitTaps = 4096;  // 16-channel taps a unit, about 5 us
constexpr int64_t kLanes = kLaneCount;

int64_t groups(const TensorDesc& desc) { return (desc.dims[1] + kLanes - 1) / kLanes; }

PoolGeometry geometry(const Desc& desc) {
  return pool_geometry(desc, desc.inputs[0].dims[0] * groups(desc.inputs[0]));
}

int64_t rows_per_unit(const PoolGeometry& g) {
  const int64_t taps = g.w.out * g.d.kernel * g.h.kernel * g.w.kernel;
  return std::max<int64_t>(kUnitTaps / std::max<int64_t>(taps, 1), 1);
}

template <class T, bool max>
void window(const PoolGeometry& g, PoolAxis::Taps d, PoolAxis::Taps h, PoolAxis::Taps w,
            const T* origin, T* result) {
  T part[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) part[l] = max ? lowest<T>() : T(0);
  const int64_t step = g.w.dilation * kLanes;
  for (int64_t kd = d.lo; kd < d.hi; ++kd) {
    for (int64_t kh = h.lo; kh < h.hi; ++kh) {
      const T* x = origin + ((kd * g.d.dilation * g.h.in + kh * g.h.dilation) * g.w.in +
                             w.lo * g.w.dilation) *
                                kLanes;
      for (int64_t kw = w.lo; kw < w.hi; ++kw, x += step) {
#pragma GCC ivdep
        for (int64_t l = 0; l < kLanes; ++l) {
          if constexpr (max)
            part[l] = x[l] > part[l] ? x[l] : part[l];
          else
            part[l] = part[l] + x[l];
        }
      }
    }
  }
  std::memcpy(result, part, sizeof part);
}

template <class T, bool max>
void pool_row(const PoolGeometry& g, const PoolParams& p, int64_t row, int64_t valid, const T* x,
              T* y) {
  const int64_t oh = row % g.h.out, od = row / g.h.out % g.d.out, plane = row / (g.h.out * g.d.out);
  const PoolAxis::Taps d = g.d.inside(od), h = g.h.inside(oh);
  const T* base =
      x + (plane * g.in_plane() +
           ((od * g.d.stride - g.d.begin) * g.h.in + oh * g.h.stride - g.h.begin) * g.w.in) *
              kLanes;
  T* out = y + row * g.w.out * kLanes;
  for (int64_t ow = 0; ow < g.w.out; ++ow, out += kLanes) {
    const PoolAxis::Taps w = g.w.inside(ow);
    window<T, max>(g, d, h, w, base + (ow * g.w.stride - g.w.begin) * kLanes, out);
    if constexpr (!max) {
      const int64_t count = p.count_include_pad
                                ? g.d.padded_count(od) * g.h.padded_count(oh) * g.w.padded_count(ow)
                                : d.count() * h.count() * w.count();
      const float divisor = static_cast<float>(std::max<int64_t>(count, 1));
      for (int64_t l = 0; l < kLanes; ++l) out[l] = out[l] / divisor;
    }
    // An empty window leaves -inf, which the padding lanes must not show.
    for (int64_t l = valid; l < kLanes; ++l) out[l] = T(0);
  }
}

// Means over large planes go through the reductions of the region executor, whose error stays
// small.
void global_mean(const PoolGeometry& g, int64_t plane, int64_t valid, const float* x, float* y) {
  const ReduceTile& mean = *reduce_tile(RegionOp::kReduceMean, DType::kF32);
  double accumulator[kLanes];
  const int64_t points = g.in_plane();
  mean.start(accumulator, kLanes);
  mean.lane({points, kLanes}, {x + plane * points * kLanes, kLanes, 1}, accumulator);
  mean.finish(accumulator, kLanes, points, y + plane * kLanes);
  for (int64_t l = valid; l < kLanes; ++l) y[plane * kLanes + l] = 0;
}

Status supports(const Desc& desc) {
  STOKER_TRY(check_pool(desc));
  if (desc.inputs[0].layout != Layout::kC16 || desc.outputs[0].layout != Layout::kC16) {
    return unsupported("layouts {} to {}; both must be c16", layout_name(desc.inputs[0].layout),
                       layout_name(desc.outputs[0].layout));
  }
  return Status::ok();
}

std::vector<std::vector<Layout>> layouts(const Desc&) { return {{Layout::kC16, Layout::kC16}}; }

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  return std::make_shared<const PoolGeometry>(geometry(desc));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  const auto& g = *static_cast<const PoolGeometry*>(prepared);
  const int64_t rows = rows_per_unit(g);
  return g.w.out == 0 ? 0 : (g.rows() + rows - 1) / rows;
}

template <class T>
void pool_units(const Launch& l) {
  const Desc& desc = *l.desc;
  const auto& p = desc.as<PoolParams>();
  const auto& g = *static_cast<const PoolGeometry*>(l.prepared);
  const int64_t step = rows_per_unit(g), per_plane = g.h.out * g.d.out,
                channel_groups = groups(desc.inputs[0]);
  const T* x = static_cast<const T*>(l.inputs[0]);
  T* y = static_cast<T*>(l.outputs[0]);
  const bool max = p.kind == PoolParams::Kind::kMax;
  for (int64_t row = l.unit_begin * step; row < std::min(l.unit_end * step, g.rows()); ++row) {
    const int64_t plane = row / per_plane;
    const int64_t valid =
        std::min(kLanes, desc.inputs[0].dims[1] - plane % channel_groups * kLanes);
    if (max) {
      pool_row<T, true>(g, p, row, valid, x, y);
    } else if constexpr (std::is_same_v<T, float>) {
      if (p.global)
        global_mean(g, plane, valid, x, y);
      else
        pool_row<float, false>(g, p, row, valid, x, y);
    }
  }
}

Status launch(const Launch& l) {
  switch (l.desc->inputs[0].dtype) {
    case DType::kF32: pool_units<float>(l); break;
    case DType::kU8: pool_units<uint8_t>(l); break;
    default: pool_units<int8_t>(l); break;
  }
  return Status::ok();
}

}  // namespace

extern const Tactic pool_c16;
const Tactic pool_c16 = {
    .name = "pool_c16",
    .version = 1,
    .family = Family::kPool,
    .supports = supports,
    .layouts = layouts,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
