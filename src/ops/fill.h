// Zeros for outputs that an evaluation fills only in part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// Every element becomes 0, false or the empty string.
void fill_zero(const TensorView& view);

}  // namespace stoker
