// Tactic pool_plain: max and average pooling over plain row-major planes, a row of outputs at a
// time.
//   y[o] = max or mean over the taps of x[o * stride - pad + tap * dilation]
//   bound  L1: the output row is read and written once per tap; global pooling: memory
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <type_traits>

#include "kernels/cpu/pool/pool_geometry.h"
#include "kernels/cpu/region/tile_ops.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kUnitTaps = 32768;

PoolGeometry geometry(const Desc& desc) {
  return pool_geometry(desc, desc.inputs[0].dims[0] * desc.inputs[0].dims[1]);
}

int64_t rows_per_unit(const PoolGeometry& g) {
  const int64_t taps = g.w.out * g.d.kernel * g.h.kernel * g.w.kernel;
  return std::max<int64_t>(kUnitTaps / std::max<int64_t>(taps, 1), 1);
}

// Adds one tap of a row of windows to the outputs [lo, hi).
template <class T, bool max>
inline void add_tap(const T* x, int64_t stride, int64_t count, T* y) {
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (max)
        y[i] = x[i] > y[i] ? x[i] : y[i];
      else
        y[i] = y[i] + x[i];
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const T v = x[i * stride];
    if constexpr (max)
      y[i] = v > y[i] ? v : y[i];
    else
      y[i] = y[i] + v;
  }
}

template <class T, bool max>
void pool_row(const PoolGeometry& g, const PoolParams& p, int64_t row, const T* x, T* y) {
  const int64_t oh = row % g.h.out, od = row / g.h.out % g.d.out, plane = row / (g.h.out * g.d.out);
  const PoolAxis::Taps d = g.d.inside(od), h = g.h.inside(oh);
  const T* base = x + plane * g.in_plane();
  T* out = y + row * g.w.out;
  std::fill(out, out + g.w.out, max ? lowest<T>() : T(0));
  const PoolAxis& w = g.w;
  for (int64_t kw = 0; kw < w.kernel; ++kw) {
    // Outputs whose tap kw lies inside: 0 <= o * stride + shift < in.
    const int64_t shift = kw * w.dilation - w.begin;
    const int64_t lo = shift >= 0 ? 0 : (-shift + w.stride - 1) / w.stride;
    const int64_t hi = shift >= w.in ? 0 : std::min(w.out, (w.in - 1 - shift) / w.stride + 1);
    if (lo >= hi) continue;
    for (int64_t kd = d.lo; kd < d.hi; ++kd) {
      for (int64_t kh = h.lo; kh < h.hi; ++kh) {
        const int64_t id = od * g.d.stride - g.d.begin + kd * g.d.dilation;
        const int64_t ih = oh * g.h.stride - g.h.begin + kh * g.h.dilation;
        add_tap<T, max>(base + (id * g.h.in + ih) * w.in + lo * w.stride + shift, w.stride, hi - lo,
                        out + lo);
      }
    }
  }
  if constexpr (!max) {
    const int64_t outer =
        p.count_include_pad ? g.d.padded_count(od) * g.h.padded_count(oh) : d.count() * h.count();
    for (int64_t o = 0; o < w.out; ++o) {
      const int64_t count = outer * (p.count_include_pad ? w.padded_count(o) : w.inside(o).count());
      out[o] = out[o] / static_cast<float>(std::max<int64_t>(count, 1));
    }
  }
}

// A whole plane to one number through the reductions of the region executor.
void global_plane(const PoolGeometry& g, RegionOp op, int64_t plane, const float* x, float* y) {
  const ReduceTile& reduce = *reduce_tile(op, DType::kF32);
  double accumulator[1];
  const int64_t points = g.in_plane();
  reduce.start(accumulator, 1);
  reduce.row({1, points}, {x + plane * points, 0, 1}, accumulator);
  reduce.finish(accumulator, 1, points, y + plane);
}

Status supports(const Desc& desc) {
  STOKER_TRY(check_pool(desc));
  if (desc.inputs[0].layout != Layout::kPlain || desc.outputs[0].layout != Layout::kPlain) {
    return unsupported("layouts {} to {}; both must be plain", layout_name(desc.inputs[0].layout),
                       layout_name(desc.outputs[0].layout));
  }
  return Status::ok();
}

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
  const auto& p = l.desc->as<PoolParams>();
  const auto& g = *static_cast<const PoolGeometry*>(l.prepared);
  const int64_t step = rows_per_unit(g);
  const T* x = static_cast<const T*>(l.inputs[0]);
  T* y = static_cast<T*>(l.outputs[0]);
  const bool max = p.kind == PoolParams::Kind::kMax;
  for (int64_t row = l.unit_begin * step; row < std::min(l.unit_end * step, g.rows()); ++row) {
    if constexpr (std::is_same_v<T, float>) {
      if (p.global)
        global_plane(g, max ? RegionOp::kReduceMax : RegionOp::kReduceMean, row, x, y);
      else if (max)
        pool_row<float, true>(g, p, row, x, y);
      else
        pool_row<float, false>(g, p, row, x, y);
    } else {
      pool_row<T, true>(g, p, row, x, y);
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

extern const Tactic pool_plain;
const Tactic pool_plain = {
    .name = "pool_plain",
    .version = 1,
    .family = Family::kPool,
    .supports = supports,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
