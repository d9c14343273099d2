// What the ops on maps share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ops/ml.h"

namespace stoker {

// An error when input 0 is no map with keys and values of these dtypes.
Status check_map(const InferContext& c, const char* op, DTypeSet keys, DTypeSet values);

struct MapView {
  Tensor keys, values;
};
// Input 0 of an evaluation: two tensors of rank 1 and equal extent.
Result<MapView> map_of(const ValueContext& c, const char* op, DTypeSet keys, DTypeSet values);

}  // namespace stoker
