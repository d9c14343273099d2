// Tactic resize_taps: linear and cubic interpolation in f32, antialiased or not, over any axes.
//   y[row][o] = sum over taps t of w[t][o] * s[index[t][o]],  s = the same over the outer axes
// The weighted source rows are added up first, so that the outer taps cost one pass over input rows
// each; then the taps along the row, in vectors over a chunk, or over outputs where a chunk is one
// element. Tables are made once per bound shape.
//   work   2 (outer taps * in + row taps * out) flops a row; bound by L1 and, for few taps, memory
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cpu/resize/resize_grid.h"
#include "kernels/cpu/simd.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kMaxTableEntries = 1 << 26;

struct Taps {
  int64_t count = 0;             // per output
  std::vector<int32_t> indices;  // of an outer axis: [output][tap]; of the row: [tap][output]
  std::vector<float> weights;
};

struct TapsPlan {
  ResizeGrid grid;
  std::vector<Taps> outer;
  std::vector<int64_t> strides;  // of the outer axes, in input rows
  Taps row;
};

Taps taps_of(const ResampleRule& rule, const ResizeGrid::Axis& axis, bool row) {
  Taps taps;
  taps.count = axis.kept ? 1 : tap_count(rule, axis.rule);
  const auto entries = static_cast<size_t>(taps.count * axis.out());
  taps.indices.resize(entries);
  taps.weights.resize(entries);
  for (int64_t o = 0; o < axis.out(); ++o) {
    const AxisTaps at = axis.kept ? AxisTaps{{o}, {1.0}} : axis_taps(rule, axis.rule, o);
    for (int64_t t = 0; t < taps.count; ++t) {
      const auto to = static_cast<size_t>(row ? t * axis.out() + o : o * taps.count + t);
      taps.indices[to] = static_cast<int32_t>(at.indices[static_cast<size_t>(t)]);
      taps.weights[to] = static_cast<float>(at.weights[static_cast<size_t>(t)]);
    }
  }
  return taps;
}

TapsPlan plan_taps(const Desc& desc) {
  TapsPlan plan;
  plan.grid = resize_grid(desc);
  if (plan.grid.blocks == 0) return plan;
  const ResampleRule& rule = desc.as<ResizeParams>().rule;
  plan.row = taps_of(rule, plan.grid.row, true);
  plan.strides.resize(plan.grid.outer.size());
  int64_t stride = 1;
  for (size_t a = plan.grid.outer.size(); a-- > 0;) {
    plan.strides[a] = stride;
    stride *= plan.grid.outer[a].in();
  }
  for (const ResizeGrid::Axis& axis : plan.grid.outer)
    plan.outer.push_back(axis.kept ? Taps{} : taps_of(rule, axis, false));
  return plan;
}

// Calls add(input row, weight) for the taps of the outer axes at an output row, without zeros.
template <class Add>
void outer_taps(const TapsPlan& plan, int64_t row, size_t axes, int64_t source, float weight,
                Add& add) {
  if (axes == 0) return add(source, weight);
  const size_t a = axes - 1;
  const Taps& taps = plan.outer[a];
  const int64_t at = row % plan.grid.outer[a].out(), rest = row / plan.grid.outer[a].out();
  if (taps.count == 0) return outer_taps(plan, rest, a, source + at * plan.strides[a], weight, add);
  for (int64_t t = 0; t < taps.count; ++t) {
    const auto entry = static_cast<size_t>(at * taps.count + t);
    if (taps.weights[entry] == 0) continue;
    outer_taps(plan, rest, a, source + taps.indices[entry] * plan.strides[a],
               weight * taps.weights[entry], add);
  }
}

void scale_row(const float* x, float weight, int64_t count, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = weight * x[i];
}
void add_row(const float* x, float weight, int64_t count, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] += weight * x[i];
}

// The taps along a row of single elements: neighbouring outputs are the lanes.
void gather_row(const TapsPlan& plan, const float* x, float* y) {
  const int64_t count = plan.grid.row.out();
  for (int64_t t = 0; t < plan.row.count; ++t) {
    const int32_t* indices = plan.row.indices.data() + t * count;
    const float* weights = plan.row.weights.data() + t * count;
    if (t == 0) {
#pragma GCC ivdep
      for (int64_t o = 0; o < count; ++o) y[o] = weights[o] * x[indices[o]];
    } else {
#pragma GCC ivdep
      for (int64_t o = 0; o < count; ++o) y[o] += weights[o] * x[indices[o]];
    }
  }
}

void chunk_row(const TapsPlan& plan, const float* x, float* y) {
  const int64_t count = plan.grid.row.out(), chunk = plan.grid.chunk;
  const int32_t* indices = plan.row.indices.data();
  const float* weights = plan.row.weights.data();
  for (int64_t o = 0; o < count; ++o, y += chunk) {
    for (int64_t i = 0; i < chunk; i += kLanes) {
      const int lanes = static_cast<int>(std::min<int64_t>(kLanes, chunk - i));
      VecF sum = broadcast(0.0f);
      for (int64_t t = 0; t < plan.row.count; ++t) {
        const float* from = x + indices[t * count + o] * chunk + i;
        const VecF value = lanes == kLanes ? load(from) : load_first(from, lanes);
        sum = fma(broadcast(weights[t * count + o]), value, sum);
      }
      if (lanes == kLanes)
        store(y + i, sum);
      else
        store_first(y + i, sum, lanes);
    }
  }
}

void taps_unit(const TapsPlan& plan, const Launch& launch, int64_t unit) {
  const auto* x = static_cast<const float*>(launch.inputs[0]);
  const int64_t in_row = plan.grid.row.in() * plan.grid.chunk;
  const int64_t out_row = plan.grid.row.out() * plan.grid.chunk;
  auto* sum = reinterpret_cast<float*>(launch.worker_workspace);
  for (int64_t row = plan.grid.begin(unit); row < plan.grid.end(unit); ++row) {
    const float* source = nullptr;  // the row itself where there is one tap of weight 1
    int64_t added = 0;
    auto add = [&](int64_t from, float weight) {
      const float* values = x + from * in_row;
      if (added == 0 && weight == 1) {
        source = values;
      } else if (added == 0) {
        scale_row(values, weight, in_row, sum);
      } else {
        if (source) std::copy(source, source + in_row, sum);
        source = nullptr;
        add_row(values, weight, in_row, sum);
      }
      ++added;
    };
    outer_taps(plan, row, plan.outer.size(), 0, 1.0f, add);
    if (added == 0) std::fill(sum, sum + in_row, 0.0f);
    float* y = static_cast<float*>(launch.outputs[0]) + row * out_row;
    if (plan.grid.chunk == 1)
      gather_row(plan, source ? source : sum, y);
    else
      chunk_row(plan, source ? source : sum, y);
  }
}

Status supports(const Desc& desc) {
  const auto& params = desc.as<ResizeParams>();
  if (params.rule.mode == ResampleRule::Mode::kNearest) return unsupported("the mode is nearest");
  if (desc.inputs[0].dtype != DType::kF32)
    return unsupported("x is {}, expected f32", dtype_name(desc.inputs[0].dtype));
  STOKER_TRY(check_resize_layouts(desc));
  // Taps that are all outside divide 0 by 0, which the padding lanes must not show.
  if (params.rule.exclude_outside && desc.inputs[0].layout == Layout::kC16)
    return unsupported("excluded taps in layout c16");
  if (logical_count(desc.outputs[0]) == 0) return Status::ok();
  for (const ResizeAxis& axis : resize_axes_of(desc)) {
    const int64_t taps = tap_count(params.rule, axis);
    if (axis.in > INT32_MAX || (!axis.kept() && taps > kMaxTableEntries / axis.out))
      return unsupported("an axis of {} to {} with {} taps is too large", axis.in, axis.out, taps);
  }
  return Status::ok();
}

Workspace workspace(const Desc& desc, const Config&) {
  const ResizeGrid grid = resize_grid(desc);
  return {0, grid.row.in() * grid.chunk * static_cast<int64_t>(sizeof(float))};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  return std::shared_ptr<const void>(std::make_unique<const TapsPlan>(plan_taps(desc)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  return static_cast<const TapsPlan*>(prepared)->grid.units();
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const TapsPlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    taps_unit(plan, launch, unit);
  return Status::ok();
}

}  // namespace

extern const Tactic resize_taps;
const Tactic resize_taps = {
    .name = "resize_taps",
    .family = Family::kResize,
    .supports = supports,
    .layouts = resize_layouts,
    .workspace = workspace,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
