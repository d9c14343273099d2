// Cutting tensors along an axis and putting them together again, for loops and scans. Works for
// every dtype, strings too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stoker/tensor.h"

namespace stoker {

// Element `index` along `axis`, which leaves the shape; along axis 0 a view that shares the
// storage.
Result<Tensor> take(const Tensor& tensor, int64_t axis, int64_t index);

// The parts, equal in dtype and shape, along a new axis. At least one part; `axis` may be negative.
Result<Tensor> stack(const std::vector<Tensor>& parts, int64_t axis);

}  // namespace stoker
