// The bind-time half of the semantic verifier: proves that a desc's operands agree with each other
// and with its parameters, so that a kernel stays inside its buffers whatever an engine file said.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

// Expected and found, per family: gemm inner extents and batch broadcasting, conv channels, groups,
// kernel, output extents; pool windows; copy ranges; region index maps and dtypes; element counts
// without overflow. Fallback: operand shapes only are checked for overflow (the op checks the
// rest).
Status check_desc(const Desc& desc);

// The part that holds for every shape: operand counts, ranks, dtypes, layouts, packings, region
// programs and parameter ranges. Looks at the number of dims only, not at the extents. check_desc
// begins with it.
Status check_desc_static(const Desc& desc);

// Dtype in which a gemm or conv accumulates operands a and b; kInvalid when they do not go
// together.
DType accumulator_dtype(DType a, DType b);

// Parts of check_desc_static, in files of their own.
Status check_operands(const Desc& desc);
std::string dtype_text(DType dtype);  // its name, or the number that has none

}  // namespace stoker
