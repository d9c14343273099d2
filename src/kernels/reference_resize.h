// The resize family in double precision, for all layouts and dtypes of whole bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

Status reference_resize(const Desc& desc, const void* input, void* output);
// Elements by their positions in the row-major order of the output.
std::vector<double> resized_elements(const Desc& desc, const void* input,
                                     std::span<const int64_t> wanted);

}  // namespace stoker
