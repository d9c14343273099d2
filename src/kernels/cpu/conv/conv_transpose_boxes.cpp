// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv/conv_transpose_boxes.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kBoxFloats = 64 << 10;     // of the output box
constexpr int64_t kPackedBytes = 256 << 10;  // of the input rows, if one row fits
constexpr int64_t kMaxPackedBytes = 256 << 20;
constexpr int64_t kMaxBoxFilters = 64, kMaxBoxColumns = 4096;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// At most that many input positions reach `count` outputs in a row.
int64_t most_reaching(const ConvShape& s, size_t d, int64_t count) {
  return std::min(s.in[d], (count - 1 + (s.kernel[d] - 1) * s.dilation[d]) / s.stride[d] + 1);
}

void size_boxes(BoxPlan& plan) {
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
         most_reaching(s, 1, plan.box_rows * 2) * plan.packed_row_bytes() <= 2 * kPackedBytes) {
    plan.box_rows *= 2;
  }
  plan.row_blocks = divide_up(s.out[1], plan.box_rows);
  plan.packed_rows = most_reaching(s, 1, plan.box_rows);
  plan.tile_panels = tile_panels(TileKind::kF32, plan.box_filters * s.kernel[2]);
}

}  // namespace

int64_t BoxPlan::phase() const {
  return shape.stride[2] == 1 ? line() : divide_up(box_columns, shape.stride[2]);
}

Range reaching(const ConvShape& s, size_t d, int64_t begin, int64_t end) {
  const int64_t first = begin + s.pad_begin[d] - (s.kernel[d] - 1) * s.dilation[d];
  const int64_t last = end - 1 + s.pad_begin[d];
  const int64_t lo = first <= 0 ? 0 : std::min(divide_up(first, s.stride[d]), s.in[d]);
  return {lo, std::clamp(last / s.stride[d] + 1, lo, s.in[d])};
}

Result<BoxPlan> plan_boxes(const Desc& desc) {
  const auto& params = desc.as<ConvParams>();
  BoxPlan plan;
  STOKER_ASSIGN(plan.shape, transposed_shape(desc));
  const ConvShape& s = plan.shape;
  plan.blocked = desc.inputs[0].layout == Layout::kC16;
  plan.channels = s.c / s.group;
  plan.filters = s.o / s.group;
  size_boxes(plan);
  const double packed =
      static_cast<double>(plan.packed_rows) * static_cast<double>(plan.packed_row_bytes());
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

}  // namespace stoker::cpu
