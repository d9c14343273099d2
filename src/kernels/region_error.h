// What rounding explains where sine and cosine come near zero.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/region_scalar.h"

namespace stoker {

// How far instruction `value` may be off in f32 because of the sines and cosines before it, at a
// point whose exact cells are given. Near a zero their error is that of the rounded argument, not
// of the result, and later operations carry it on (first order error analysis: Higham, "Accuracy
// and Stability of Numerical Algorithms", 2002, chapter 3). 0 without sines. Reductions pass no
// error.
double sine_error(const RegionProgram& program, std::span<const RegionCell> cells, int32_t value);
bool has_sine(const RegionProgram& program);

}  // namespace stoker
