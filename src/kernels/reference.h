// The oracle by elements: chosen output elements of any desc in double precision.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

// Elements of output `output` at the row-major logical positions `wanted`, computed in double from
// the inputs as they lie in memory (layouts and packings of the desc). Float results are unrounded.
// `slack`, if not null: raised to what an f32 computation may be off because of sines near zero.
Result<std::vector<double>> reference_elements(const Desc& desc, const void* const* inputs,
                                               int output, std::span<const int64_t> wanted,
                                               double* slack = nullptr);

}  // namespace stoker
