// SPDX-License-Identifier: Apache-2.0
#include "ops/index_map.h"

namespace stoker {

Status copy_indexed(const TensorView& y, const TensorView& x, const IndexMaps& maps,
                    const TensorView& fill, std::span<const int64_t> wanted) {
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
