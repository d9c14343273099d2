// What a resize node says about its axes; base/resample.h has the formulas.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/resample.h"
#include "ops/support.h"

namespace stoker {

// From the attributes of a checked node.
ResampleRule resample_rule(const Attributes& attributes);
// All axes of x, from the attributes and the inputs roi (1), scales (2), sizes (3).
std::vector<ResizeAxis> resize_axes(const EvalContext& c);
// The axes that scales and sizes are for.
std::vector<int64_t> resized_axes(const Attributes& attributes, int64_t rank);

}  // namespace stoker
