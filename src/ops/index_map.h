// Copies in which every output coordinate picks an input coordinate of the same axis: pad, tile,
// nearest resize. One table of indices an axis; -1 stands for a fill value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

using IndexMaps = std::vector<std::vector<int64_t>>;  // [axis][output coordinate]

// `fill` is a scalar view of y's dtype; it may be absent when no map holds -1, or for zeros.
Status copy_indexed(const TensorView& y, const TensorView& x, const IndexMaps& maps,
                    const TensorView& fill, std::span<const int64_t> wanted);

}  // namespace stoker
