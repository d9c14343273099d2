// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/resize/resize_grid.h"

#include <algorithm>

namespace stoker::cpu {
namespace {

constexpr int64_t kUnitBytes = 64 << 10, kWantedUnits = 24;

bool channels_kept(const Desc& desc) {
  const auto axes = resize_axes_of(desc);
  return axes[0].kept() && axes[1].kept();
}

}  // namespace

ResizeGrid resize_grid(const Desc& desc) {
  ResizeGrid grid;
  std::vector<ResizeGrid::Axis> axes;
  for (const ResizeAxis& rule : resize_axes_of(desc)) axes.push_back({rule, rule.kept()});
  if (desc.inputs[0].layout == Layout::kC16) {
    axes[1].rule.in = axes[1].rule.out = (axes[1].in() + kLaneCount - 1) / kLaneCount;
    ResizeAxis lanes;
    lanes.in = lanes.out = kLaneCount;
    axes.push_back({lanes, true});
  }
  while (!axes.empty() && axes.back().kept) {
    grid.chunk *= axes.back().in();
    axes.pop_back();
  }
  if (!axes.empty()) {
    grid.row = axes.back();
    axes.pop_back();
  }
  for (const ResizeGrid::Axis& axis : axes) {
    grid.rows *= axis.out();
    if (axis.kept && !grid.outer.empty() && grid.outer.back().kept) {
      grid.outer.back().rule.in *= axis.in();
      grid.outer.back().rule.out *= axis.out();
    } else {
      grid.outer.push_back(axis);
    }
  }
  const int64_t row_bytes =
      std::max<int64_t>(1, grid.row.out() * grid.chunk * dtype_bits(desc.inputs[0].dtype) / 8);
  grid.block_rows =
      std::max<int64_t>(1, std::min(kUnitBytes / row_bytes, grid.rows / kWantedUnits));
  grid.blocks =
      logical_count(desc.outputs[0]) == 0 ? 0 : (grid.rows + grid.block_rows - 1) / grid.block_rows;
  return grid;
}

Status check_resize_layouts(const Desc& desc) {
  const Layout x = desc.inputs[0].layout, y = desc.outputs[0].layout;
  if (x != y)
    return unsupported("layouts {} to {}; they must be equal", layout_name(x), layout_name(y));
  if (x == Layout::kC16 && !channels_kept(desc))
    return unsupported("batch or channels change; in layout c16 only spatial axes may");
  return Status::ok();
}

std::vector<std::vector<Layout>> resize_layouts(const Desc& desc) {
  std::vector<std::vector<Layout>> layouts;
  const int rank = desc.inputs[0].rank();
  if (rank >= 3 && rank <= 5 && channels_kept(desc))
    layouts.push_back({Layout::kC16, Layout::kC16});
  layouts.push_back({Layout::kPlain, Layout::kPlain});
  return layouts;
}

}  // namespace stoker::cpu
