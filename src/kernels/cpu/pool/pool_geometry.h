// Window arithmetic shared by the pool tactics: up to three spatial dims, seen as depth, height,
// width.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker::cpu {

struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;

  struct Taps {
    int64_t lo, hi;
    int64_t count() const { return std::max<int64_t>(hi - lo, 0); }
  };
  // Taps of output `o` that lie inside the input.
  Taps inside(int64_t o) const {
    const int64_t first = o * stride - begin;
    return {first >= 0 ? 0 : up(-first), std::min(kernel, up(in - first))};
  }
  // Taps inside the padded input: a window of ceil_mode may reach past it.
  int64_t padded_count(int64_t o) const {
    return std::max<int64_t>(std::min(kernel, up(in + end - (o * stride - begin))), 0);
  }

 private:
  int64_t up(int64_t value) const {  // ceil(value / dilation)
    if (dilation == 1) return value;
    return value > 0 ? (value + dilation - 1) / dilation : -(-value / dilation);
  }
};

struct PoolGeometry {
  PoolAxis d, h, w;
  int64_t planes = 0;  // images times channels (plain) or channel groups (c16)
  int64_t in_plane() const { return d.in * h.in * w.in; }
  int64_t rows() const { return planes * d.out * h.out; }
};

inline PoolGeometry pool_geometry(const Desc& desc, int64_t planes) {
  const auto& p = desc.as<PoolParams>();
  const TensorDesc &x = desc.inputs[0], &y = desc.outputs[0];
  const std::vector<int64_t> spatial(x.dims.begin() + 2, x.dims.end());
  const std::vector<int64_t> kernel = p.global ? spatial : p.kernel;
  const size_t rank = spatial.size();
  std::vector<int64_t> pads(2 * rank, 0);
  if (!p.global)
    pads = resolve_pads(Family::kPool, p.auto_pad, p.pads, spatial, kernel, p.strides, p.dilations);
  PoolGeometry g;
  PoolAxis* axes[] = {&g.d, &g.h, &g.w};
  for (size_t i = 0; i < rank; ++i) {
    PoolAxis& axis = *axes[3 - rank + i];
    axis.in = spatial[i];
    axis.out = y.dims[2 + i];
    axis.kernel = kernel[i];
    axis.stride = p.global || p.strides.empty() ? 1 : p.strides[i];
    axis.dilation = p.global || p.dilations.empty() ? 1 : p.dilations[i];
    axis.begin = pads[i];
    axis.end = pads[rank + i];
  }
  g.planes = planes;
  return g;
}

// Where a maximum starts.
template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}

// Reasons that both tactics have in common.
inline Status check_pool(const Desc& desc) {
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1)
    return unsupported("a pool has one input and one output");
  const auto& p = desc.as<PoolParams>();
  const TensorDesc &x = desc.inputs[0], &y = desc.outputs[0];
  if (x.rank() < 3 || x.rank() > 5 || y.rank() != x.rank()) {
    return unsupported("input of rank {}; 1 to 3 spatial dims are possible", x.rank());
  }
  const bool bytes = x.dtype == DType::kU8 || x.dtype == DType::kI8;
  if (x.dtype != y.dtype ||
      !(x.dtype == DType::kF32 || (bytes && p.kind == PoolParams::Kind::kMax))) {
    return unsupported("dtypes {} to {}; f32 is possible, and u8 and i8 for max",
                       dtype_name(x.dtype), dtype_name(y.dtype));
  }
  const size_t rank = static_cast<size_t>(x.rank()) - 2;
  const auto fits = [&](const std::vector<int64_t>& v, size_t n) {
    return v.empty() || v.size() == n;
  };
  if (!p.global && (p.kernel.size() != rank || !fits(p.strides, rank) || !fits(p.dilations, rank) ||
                    !fits(p.pads, 2 * rank))) {
    return unsupported("kernel, strides, dilations or pads do not have {} spatial dims", rank);
  }
  return Status::ok();
}

}  // namespace stoker::cpu
