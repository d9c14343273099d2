// SPDX-License-Identifier: Apache-2.0
#include "ops/fill.h"

namespace stoker {

void fill_zero(const TensorView& view) {
  const int bits = dtype_bits(view.dtype);
  if (view.dense() && bits > 0) {
    // Packed elements share bytes: the dense form ends with the whole last one.
    std::memset(view.data, 0, static_cast<size_t>((view.count() * bits + 7) / 8));
    return;
  }
  const Walk walk = broadcast_walk(view.shape, {&view});
  for_each_wanted(walk, {}, [&](const int64_t* o) {
    if (bits == 0) {
      (*view.strings)[static_cast<size_t>(o[0])].clear();
    } else if (bits >= 8) {
      std::memset(view.as<char>() + o[0] * (bits / 8), 0, static_cast<size_t>(bits / 8));
    } else {
      store_int(view.dtype)(view.data, o[0], 0);
    }
  });
}

}  // namespace stoker
