// Depthwise convolution over channel groups of 16: every output pixel is a sum over taps of x * w,
// lane by lane. 2 taps flops per 2 elements moved: bound by L1 and L2 loads. Taps outside of the
// image are skipped, so nothing is padded. Runs of up to 8 pixels share the load of a weight.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv/conv_shape.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/simd.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kBlockPixels = 1024;
constexpr int64_t kRunPixels = 64;  // pixels between two calls of the fused epilogue
#if defined(__AVX512F__)
constexpr int kMaxTile = 8;
#elif defined(__AVX2__)
constexpr int kMaxTile = 4;
#else
constexpr int kMaxTile = 2;
#endif

struct DepthwisePlan {
  ConvShape shape;
  DType x_dtype = DType::kF32;
  DType w_dtype = DType::kF32;
  int32_t w_zero = 0;
  int64_t groups = 0;  // of 16 channels
  int64_t block_rows = 1, row_blocks = 0;
  int64_t inner_begin = 0, inner_end = 0;  // columns whose taps are all inside
  Epilogue epilogue;
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<DepthwisePlan> plan_depthwise(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  DepthwisePlan plan;
  STOKER_ASSIGN(plan.shape, conv_shape(desc));
  const ConvShape& s = plan.shape;
  plan.x_dtype = desc.inputs[0].dtype;
  plan.w_dtype = desc.inputs[1].dtype;
  plan.w_zero = params.w_zero;
  plan.groups = divide_up(s.c, 16);
  const int64_t planes = std::max<int64_t>(1, s.n * plan.groups);
  plan.row_blocks =
      std::max(divide_up(kWantedUnits, planes), divide_up(s.out[1] * s.out[2], kBlockPixels));
  plan.row_blocks = std::clamp<int64_t>(plan.row_blocks, 1, std::max<int64_t>(1, s.out[1]));
  plan.block_rows = std::max<int64_t>(1, divide_up(s.out[1], plan.row_blocks));
  plan.row_blocks = divide_up(s.out[1], plan.block_rows);
  plan.inner_begin = std::min(s.out[2], divide_up(s.pad_begin[2], s.stride[2]));
  const int64_t room = s.in[2] - 1 - (s.kernel[2] - 1) * s.dilation[2] + s.pad_begin[2];
  plan.inner_end = room < 0 ? 0 : std::min(s.out[2], room / s.stride[2] + 1);
  plan.inner_end = std::max(plan.inner_end, plan.inner_begin);
  EpilogueSite site;
  site.program = &params.epilogue;
  site.desc = &desc;
  site.accumulator = plan.x_dtype == DType::kF32 ? DType::kF32 : DType::kI32;
  STOKER_ASSIGN(plan.epilogue, Epilogue::make(site));
  return plan;
}

// First tap that is inside, and one past the last, for an output position.
struct TapRange {
  int64_t begin, end;
};
TapRange taps_inside(const ConvShape& s, size_t dim, int64_t out) {
  const int64_t first = out * s.stride[dim] - s.pad_begin[dim], d = s.dilation[dim];
  const int64_t begin = first >= 0 ? 0 : std::min(s.kernel[dim], divide_up(-first, d));
  const int64_t end =
      first >= s.in[dim] ? 0 : std::min(s.kernel[dim], (s.in[dim] - 1 - first) / d + 1);
  return {begin, std::max(begin, end)};
}

// How the elements are multiplied; V is the accumulator.
struct F32Math {
  using V = VecF;
  using X = float;
  const float* weights;
  static constexpr bool kOffsets = false;
  VecF zero() const { return broadcast(0.0f); }
  VecF offset(int64_t) const { return zero(); }
  VecF weight(int64_t tap) const { return load(weights + tap * 16); }
  VecF add(VecF acc, const float* x, VecF w) const { return fma(load(x), w, acc); }
};
// sum (x - x_zero) w = sum x w + sum offset with offset = -x_zero w. x and w = weight - w_zero fit
// i16; the upper half of a weight lane is 0, so that vpmaddwd is a product.
template <class T>
struct ByteMath {
  using V = VecI;
  using X = T;
  static constexpr bool kOffsets = true;
  const int32_t* weights;
  const int32_t* offsets;
  VecI zero() const { return broadcast(int32_t{0}); }
  VecI offset(int64_t tap) const { return load(offsets + tap * 16); }
  VecI weight(int64_t tap) const { return load(weights + tap * 16); }
  VecI add(VecI acc, const T* x, VecI w) const {
    VecI value;
    if constexpr (std::is_same_v<T, uint8_t>)
      value = load_u8(x);
    else
      value = load_i8(x);
    return acc + madd16(value, w);
  }
};

struct RowTaps {
  TapRange rows, columns;
};

// T neighbouring pixels; x: the element under tap (0, 0) of the first one, which may lie outside.
template <int T, class Math>
STOKER_INLINE void pixels(const Math& math, const ConvShape& s, const typename Math::X* x,
                          RowTaps taps, void* values) {
  typename Math::V acc[T], first = math.zero();
  if constexpr (Math::kOffsets) {
    for (int64_t h = taps.rows.begin; h < taps.rows.end; ++h) {
      for (int64_t w = taps.columns.begin; w < taps.columns.end; ++w) {
        first = first + math.offset(h * s.kernel[2] + w);
      }
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) acc[t] = first;
  const int64_t step = s.stride[2] * 16;
  for (int64_t h = taps.rows.begin; h < taps.rows.end; ++h) {
    const typename Math::X* line = x + h * s.dilation[1] * s.in[2] * 16;
    for (int64_t w = taps.columns.begin; w < taps.columns.end; ++w) {
      const auto weight = math.weight(h * s.kernel[2] + w);
      const typename Math::X* from = line + w * s.dilation[2] * 16;
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) acc[t] = math.add(acc[t], from + t * step, weight);
    }
  }
  using Value = std::conditional_t<std::is_same_v<typename Math::V, VecF>, float, int32_t>;
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) store(static_cast<Value*>(values) + t * 16, acc[t]);
}

// Columns [begin, end) of one output row.
template <class Math>
void row_run(const DepthwisePlan& plan, const Math& math, const typename Math::X* plane,
             int64_t row, int64_t begin, int64_t end, float* values) {
  const ConvShape& s = plan.shape;
  const TapRange rows = taps_inside(s, 1, row);
  const int64_t line = (row * s.stride[1] - s.pad_begin[1]) * s.in[2] - s.pad_begin[2];
  for (int64_t q = begin; q < end;) {
    const typename Math::X* x = plane + (line + q * s.stride[2]) * 16;
    float* to = values + (q - begin) * 16;
    if (q < plan.inner_begin || q >= plan.inner_end) {
      pixels<1>(math, s, x, {rows, taps_inside(s, 2, q)}, to);
      ++q;
      continue;
    }
    const TapRange columns{0, s.kernel[2]};
    const int64_t left = std::min(end, plan.inner_end) - q;
    if (left >= 8 && kMaxTile >= 8) {
      pixels<kMaxTile>(math, s, x, {rows, columns}, to);
      q += kMaxTile;
    } else if (left >= 4 && kMaxTile >= 4) {
      pixels<4>(math, s, x, {rows, columns}, to);
      q += 4;
    } else if (left >= 2) {
      pixels<2>(math, s, x, {rows, columns}, to);
      q += 2;
    } else {
      pixels<1>(math, s, x, {rows, columns}, to);
      ++q;
    }
  }
}

struct Scratch {
  float* values;
  int32_t* weights;
  int32_t* offsets;
  std::byte* region;
};

Scratch carve(const DepthwisePlan& plan, Carver& carver) {
  Scratch s{};
  const int64_t pixels = plan.epilogue.fused() ? kRunPixels : plan.block_rows * plan.shape.out[2];
  s.values = carver.take<float>(pixels * 16);
  if (plan.x_dtype != DType::kF32) {
    s.weights = carver.take<int32_t>(plan.shape.taps() * 16);
    s.offsets = carver.take<int32_t>(plan.shape.taps() * 16);
  }
  s.region = carver.take<std::byte>(plan.epilogue.scratch_bytes());
  return s;
}

void widen_weights(const DepthwisePlan& plan, int32_t x_zero, const uint8_t* weights,
                   const Scratch& s) {
  for (int64_t i = 0; i < plan.shape.taps() * 16; ++i) {
    const int32_t w = plan.w_dtype == DType::kU8 ? weights[i] : static_cast<int8_t>(weights[i]);
    s.weights[i] = (w - plan.w_zero) & 0xffff;
    s.offsets[i] = -x_zero * (w - plan.w_zero);
  }
}

struct Place {
  int64_t image, group, row, rows;
};

void finish_run(const DepthwisePlan& plan, const Launch& launch, const Place& p, int64_t pixel,
                int64_t count, float* values) {
  TilePlace place;
  place.channel = p.group * 16;
  place.offset =
      ((p.image * plan.groups + p.group) * plan.shape.out[1] * plan.shape.out[2] + pixel) * 16;
  place.row_stride = 16;
  place.lanes = plan.shape.c - place.channel;
  place.zero_tail = true;
  const TileValues tile{values, 16, 0, static_cast<int>(count), 1, nullptr};
  plan.epilogue.finish(tile, place, launch.inputs + 1, launch.outputs[0]);
}

void run_region(const DepthwisePlan& plan, const Launch& launch, const Place& p, const Scratch& s) {
  const bool flat = plan.epilogue.region().rank() == 4;
  const int64_t columns = plan.shape.out[2];
  const int64_t begin[kMaxRegionRank] = {p.image, p.group, flat ? 0 : p.row, 0, 0};
  const int64_t extent[kMaxRegionRank] = {1, 1, flat ? columns : p.rows, flat ? 16 : columns, 16};
  const int64_t strides[kMaxRegionRank] = {0, 0, flat ? 16 : columns * 16, flat ? 1 : 16, 1};
  plan.epilogue.region().run(begin, extent, launch.inputs + 1, launch.outputs, s.values, strides,
                             s.region);
}

template <class Math>
void run_unit(const DepthwisePlan& plan, const Launch& launch, const Place& p, const Scratch& s,
              const Math& math) {
  const ConvShape& shape = plan.shape;
  const auto* plane = static_cast<const typename Math::X*>(launch.inputs[0]) +
                      (p.image * plan.groups + p.group) * shape.in[1] * shape.in[2] * 16;
  const int64_t columns = shape.out[2];
  for (int64_t row = p.row; row < p.row + p.rows; ++row) {
    if (!plan.epilogue.fused()) {
      row_run(plan, math, plane, row, 0, columns, s.values + (row - p.row) * columns * 16);
      continue;
    }
    for (int64_t q = 0; q < columns; q += kRunPixels) {
      const int64_t end = std::min(q + kRunPixels, columns);
      row_run(plan, math, plane, row, q, end, s.values);
      finish_run(plan, launch, p, row * columns + q, end - q, s.values);
    }
  }
  if (!plan.epilogue.fused()) run_region(plan, launch, p, s);
}

void depthwise_unit(const DepthwisePlan& plan, const Launch& launch, int64_t unit) {
  Carver carver(launch.worker_workspace);
  const Scratch s = carve(plan, carver);
  Place p{};
  p.row = unit % plan.row_blocks * plan.block_rows;
  p.rows = std::min(plan.block_rows, plan.shape.out[1] - p.row);
  p.group = unit / plan.row_blocks % plan.groups;
  p.image = unit / plan.row_blocks / plan.groups;
  const int64_t first = p.group * plan.shape.taps() * 16;
  if (plan.x_dtype == DType::kF32) {
    run_unit(plan, launch, p, s, F32Math{static_cast<const float*>(launch.inputs[1]) + first});
    return;
  }
  const auto& params = launch.desc->as<ConvParams>();
  const int32_t x_zero =
      zero_point(*launch.desc, launch.inputs, params.x_zero_input, params.x_zero);
  widen_weights(plan, x_zero, static_cast<const uint8_t*>(launch.inputs[1]) + first, s);
  if (plan.x_dtype == DType::kU8)
    run_unit(plan, launch, p, s, ByteMath<uint8_t>{s.weights, s.offsets});
  else
    run_unit(plan, launch, p, s, ByteMath<int8_t>{s.weights, s.offsets});
}

Status check_depthwise(const Desc& desc) {
  STOKER_ASSIGN(const ConvShape shape, conv_shape(desc));
  if (shape.group != shape.c || shape.c != shape.o) {
    return unsupported("{} groups, {} input and {} output channels are not a depthwise convolution",
                       shape.group, shape.c, shape.o);
  }
  STOKER_TRY(check_blocked_conv(desc, shape, Packing::kDepthwiseC16, true));
  return plan_depthwise(desc).status();
}

Status supports_f32(const Desc& desc) {
  for (size_t i = 0; i < 2; ++i) {
    if (desc.inputs[i].dtype != DType::kF32) {
      return unsupported("operand {} is {}, expected f32", i, dtype_name(desc.inputs[i].dtype));
    }
  }
  return check_depthwise(desc);
}

Status supports_i8(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  const int32_t zeros[] = {params.x_zero, params.w_zero};
  for (size_t i = 0; i < 2; ++i) {
    const DType dtype = desc.inputs[i].dtype;
    if (dtype != DType::kU8 && dtype != DType::kI8) {
      return unsupported("operand {} is {}, expected u8 or i8", i, dtype_name(dtype));
    }
    if (zeros[i] < -128 || zeros[i] > 255)
      return unsupported("zero point {} is not of 8 bits", zeros[i]);
  }
  return check_depthwise(desc);
}

Packing packing(const Desc&, int index) {
  return index == 1 ? Packing::kDepthwiseC16 : Packing::kNone;
}
std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  return blocked_layouts(desc, Layout::kC16);
}

Workspace workspace(const Desc& desc, const Config&) {
  const auto plan = plan_depthwise(desc);
  if (!plan) return {};
  Carver carver(nullptr);
  carve(*plan, carver);
  return {0, carver.bytes()};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  auto plan = plan_depthwise(desc);
  if (!plan) return nullptr;
  return std::shared_ptr<const void>(std::make_unique<const DepthwisePlan>(std::move(*plan)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  const auto& plan = *static_cast<const DepthwisePlan*>(prepared);
  return plan.shape.out[2] == 0 ? 0 : plan.shape.n * plan.groups * plan.row_blocks;
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const DepthwisePlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    depthwise_unit(plan, launch, unit);
  return Status::ok();
}

constexpr Tactic tactic(const char* name, Status (*supports)(const Desc&)) {
  Tactic t;
  t.name = name;
  t.family = Family::kConv;
  t.supports = supports;
  t.packing = packing;
  t.layouts = layouts;
  t.workspace = workspace;
  t.prepare = prepare;
  t.units = units;
  t.launch = launch;
  return t;
}

}  // namespace

extern const Tactic conv_f32_depthwise_c16;
const Tactic conv_f32_depthwise_c16 = tactic("conv_f32_depthwise_c16", supports_f32);
extern const Tactic conv_i8_depthwise_c16;
const Tactic conv_i8_depthwise_c16 = tactic("conv_i8_depthwise_c16", supports_i8);

}  // namespace stoker::cpu
