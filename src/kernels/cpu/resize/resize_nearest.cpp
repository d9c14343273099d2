// Tactic resize_nearest: each output element is a copy of one input element; any dtype of whole
// bytes, any axes. Rows are spread out by their own loop per size of a chunk, rows that come from
// the same source row are copied from the one before.
//   bound  memory: every output byte is written once, an input byte read once per source row
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/cpu/resize/resize_grid.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

struct NearestPlan {
  ResizeGrid grid;
  std::vector<std::vector<int64_t>> sources;  // per outer axis: of each output, in input rows
  std::vector<int64_t> columns;               // input position of each output position of a row
  int64_t repeat = 0;                         // columns[i] == i / repeat; 0: not so
  int64_t chunk_bytes = 0, row_in_bytes = 0, row_out_bytes = 0;
};

NearestPlan plan_nearest(const Desc& desc) {
  NearestPlan plan;
  plan.grid = resize_grid(desc);
  if (plan.grid.blocks == 0) return plan;
  const ResampleRule& rule = desc.as<ResizeParams>().rule;
  const auto index = [&](const ResizeGrid::Axis& axis, int64_t at) {
    return axis.kept ? at : nearest_index(rule, axis.rule, at);
  };
  int64_t stride = 1;
  plan.sources.resize(plan.grid.outer.size());
  for (size_t a = plan.sources.size(); a-- > 0;) {
    const ResizeGrid::Axis& axis = plan.grid.outer[a];
    for (int64_t i = 0; i < axis.out(); ++i) plan.sources[a].push_back(index(axis, i) * stride);
    stride *= axis.in();
  }
  const ResizeGrid::Axis& row = plan.grid.row;
  for (int64_t i = 0; i < row.out(); ++i) plan.columns.push_back(index(row, i));
  const auto first = std::find(plan.columns.begin(), plan.columns.end(), int64_t{1});
  plan.repeat = first == plan.columns.end() ? 0 : first - plan.columns.begin();
  for (int64_t i = 0; plan.repeat > 0 && i < row.out(); ++i) {
    if (plan.columns[static_cast<size_t>(i)] != i / plan.repeat) plan.repeat = 0;
  }
  plan.chunk_bytes = plan.grid.chunk * dtype_bits(desc.inputs[0].dtype) / 8;
  plan.row_in_bytes = row.in() * plan.chunk_bytes;
  plan.row_out_bytes = row.out() * plan.chunk_bytes;
  return plan;
}

template <size_t kBytes>
struct Cell {
  std::byte bytes[kBytes];
};

template <class T>
void spread_row(const NearestPlan& plan, const std::byte* from, std::byte* to) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  const int64_t count = plan.grid.row.out();
  if (plan.repeat == 2) {
    for (int64_t i = 0; i < count / 2; ++i) {
      const T value = x[i];
      y[2 * i] = value;
      y[2 * i + 1] = value;
    }
    if (count % 2) y[count - 1] = x[count / 2];
    return;
  }
  const int64_t* columns = plan.columns.data();
  for (int64_t i = 0; i < count; ++i) y[i] = x[columns[i]];
}

void spread_any(const NearestPlan& plan, const std::byte* from, std::byte* to) {
  for (const int64_t column : plan.columns) {
    std::memcpy(to, from + column * plan.chunk_bytes, static_cast<size_t>(plan.chunk_bytes));
    to += plan.chunk_bytes;
  }
}

using Spread = void (*)(const NearestPlan&, const std::byte*, std::byte*);

Spread spread_of(int64_t chunk_bytes) {
  switch (chunk_bytes) {
    case 1: return spread_row<uint8_t>;
    case 2: return spread_row<uint16_t>;
    case 4: return spread_row<uint32_t>;
    case 8: return spread_row<uint64_t>;
    case 16: return spread_row<Cell<16>>;
    case 64: return spread_row<Cell<64>>;
    default: return spread_any;
  }
}

void nearest_unit(const NearestPlan& plan, const Launch& launch, int64_t unit) {
  const auto* x = static_cast<const std::byte*>(launch.inputs[0]);
  auto* y = static_cast<std::byte*>(launch.outputs[0]);
  const Spread spread = spread_of(plan.chunk_bytes);
  int64_t last = -1;
  for (int64_t row = plan.grid.begin(unit); row < plan.grid.end(unit); ++row) {
    int64_t rest = row, source = 0;
    for (size_t a = plan.sources.size(); a-- > 0;) {
      const auto extent = static_cast<int64_t>(plan.sources[a].size());
      source += plan.sources[a][static_cast<size_t>(rest % extent)];
      rest /= extent;
    }
    std::byte* to = y + row * plan.row_out_bytes;
    if (source == last)
      std::memcpy(to, to - plan.row_out_bytes, static_cast<size_t>(plan.row_out_bytes));
    else
      spread(plan, x + source * plan.row_in_bytes, to);
    last = source;
  }
}

Status supports(const Desc& desc) {
  if (desc.as<ResizeParams>().rule.mode != ResampleRule::Mode::kNearest)
    return unsupported("the mode is not nearest");
  if (dtype_bits(desc.inputs[0].dtype) < 8)
    return unsupported("dtype {} is not of whole bytes", dtype_name(desc.inputs[0].dtype));
  return check_resize_layouts(desc);
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  return std::shared_ptr<const void>(std::make_unique<const NearestPlan>(plan_nearest(desc)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  return static_cast<const NearestPlan*>(prepared)->grid.units();
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const NearestPlan*>(launch.prepared);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit)
    nearest_unit(plan, launch, unit);
  return Status::ok();
}

}  // namespace

extern const Tactic resize_nearest;
const Tactic resize_nearest = {
    .name = "resize_nearest",
    .family = Family::kResize,
    .supports = supports,
    .layouts = resize_layouts,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
