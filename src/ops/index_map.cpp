// SPDX-License-Identifier: Apache-2.0
#include "ops/index_map.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace stoker {

namespace {

// Neighbouring outputs of the last axis that read neighbouring inputs; from < 0: outside.
struct Run {
  int64_t to = 0, from = 0, count = 0;
};

std::vector<Run> runs_of(const std::vector<int64_t>& map) {
  std::vector<Run> runs;
  for (size_t i = 0; i < map.size(); ++i) {
    const int64_t from = std::max<int64_t>(map[i], -1);
    if (!runs.empty()) {
      Run& last = runs.back();
      if (from < 0 ? last.from < 0 : last.from >= 0 && from == last.from + last.count) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({static_cast<int64_t>(i), from, 1});
  }
  return runs;
}

bool is_bytes(const TensorView& view, DType dtype) {
  return view.dtype == dtype && view.dense() && dtype != DType::kString && dtype_bits(dtype) >= 8;
}

// Row by row in bytes, for dense tensors of one dtype: what padding, tiling and nearest resizing of
// whole tensors come to. False: not of this kind.
bool copy_rows(const TensorView& y, const TensorView& x, const IndexMaps& maps,
               const TensorView& fill) {
  if (!is_bytes(y, y.dtype) || !is_bytes(x, y.dtype) || y.shape.empty()) return false;
  if (fill.present() && !is_bytes(fill, y.dtype)) return false;
  const auto size = static_cast<size_t>(dtype_bits(y.dtype) / 8);
  std::array<std::byte, 16> outside{};
  if (fill.present()) {
    std::memcpy(outside.data(), fill.data, size);
  } else if (const StoreDouble zero = store_double(y.dtype)) {
    zero(outside.data(), 0, 0.0);
  }
  const auto fill_elements = [&](std::byte* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i, to += size) std::memcpy(to, outside.data(), size);
  };
  const std::vector<Run> runs = runs_of(maps.back());
  const size_t outer = y.shape.size() - 1;
  const int64_t width = y.shape[outer], rows = width > 0 ? y.count() / width : 0;
  std::vector<int64_t> at(outer, 0);
  auto* to = static_cast<std::byte*>(y.data);
  for (int64_t row = 0; row < rows; ++row, to += static_cast<size_t>(width) * size) {
    int64_t base = 0;
    bool inside = true;
    for (size_t d = 0; d < outer; ++d) {
      const int64_t i = maps[d][static_cast<size_t>(at[d])];
      inside = inside && i >= 0;
      base += i * x.strides[d];
    }
    const auto* from = static_cast<const std::byte*>(x.data);
    if (!inside) fill_elements(to, width);
    for (const Run& run : inside ? std::span<const Run>(runs) : std::span<const Run>()) {
      std::byte* place = to + static_cast<size_t>(run.to) * size;
      if (run.from < 0)
        fill_elements(place, run.count);
      else
        std::memcpy(place, from + static_cast<size_t>(base + run.from) * size,
                    static_cast<size_t>(run.count) * size);
    }
    for (size_t d = outer; d-- > 0;) {
      if (++at[d] < y.shape[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

}  // namespace

Status copy_indexed(const TensorView& y, const TensorView& x, const IndexMaps& maps,
                    const TensorView& fill, std::span<const int64_t> wanted) {
  if (wanted.empty() && copy_rows(y, x, maps, fill)) return Status::ok();
  const Mover move(y, x);
  const bool filled = fill.present();
  const Mover move_fill(y, filled ? fill : x);
  const StoreDouble zero = store_double(y.dtype);
  const Writer write(y);
  const size_t rank = y.shape.size();
  std::vector<int64_t> at(rank, 0);
  const auto copy_at = [&](int64_t position) {
    int64_t from = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t i = maps[d][static_cast<size_t>(at[d])];
      if (i < 0) {
        const int64_t to = write.offset(position);
        if (filled) {
          move_fill(to, 0);
        } else if (zero) {
          zero(y.data, to, 0.0);
        } else if (y.strings) {
          (*y.strings)[static_cast<size_t>(to)].clear();
        }
        return;
      }
      from += i * x.strides[d];
    }
    move(write.offset(position), from);
  };
  if (!wanted.empty()) {
    for (const int64_t position : wanted) {
      unravel(y.shape, position, at.data());
      copy_at(position);
    }
    return Status::ok();
  }
  const int64_t total = y.count();
  for (int64_t position = 0; position < total; ++position) {
    copy_at(position);
    for (size_t d = rank; d-- > 0;) {
      if (++at[d] < y.shape[d]) break;
      at[d] = 0;
    }
  }
  return Status::ok();
}

}  // namespace stoker
