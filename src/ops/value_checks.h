// Checks of evaluations that see whole values: what inference has checked is checked again, because
// a value of unknown kind, or a file, may have brought something else since.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// Input `i` is a tensor of one of these dtypes.
inline Status check_tensor(const ValueContext& c, const char* op, size_t i, DTypeSet set) {
  if (!c.has(i) || !c.inputs[i].is_tensor())
    return invalid_argument("{}: input {} is missing or no tensor", op, i);
  if (contains(set, c.tensor(i).dtype())) return Status::ok();
  return invalid_argument("{}: input {} is {}, which the op does not take", op, i,
                          dtype_name(c.tensor(i).dtype()));
}

}  // namespace stoker
