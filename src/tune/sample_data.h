// Seeded operands that are legal for a desc: indices inside their tables, padded lanes zero.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tactic.h"

namespace stoker {

// One tensor per input: stored bytes (layout and padding as the desc says), constants canonical
// (kNone). Floats are uniform in [-1, 1), 8-bit integers take their whole range, other integers 0
// and 1. Independent of the machine.
Result<std::vector<Tensor>> sample_inputs(const Desc& desc, uint64_t seed);

// Row-major values of a shape as sample_inputs makes them; `limit` > 0 bounds integers to [0,
// limit).
Result<Tensor> sample_tensor(DType dtype, const Shape& shape, uint64_t seed, int64_t limit = 0);

// Position in memory of a row-major element of the tensor.
int64_t stored_position(const TensorDesc& desc, int64_t element);

}  // namespace stoker
