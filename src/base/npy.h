// .npy files (numpy's format, versions 1 to 3): the tensors on disk. Reading is for hostile files:
// the header is bounded, pickled objects are never touched, and sizes must agree exactly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stoker/tensor.h"

namespace stoker {

// Fortran order is rearranged to row-major. Refused with the reason: big-endian data, structured
// dtypes, objects, strings, and V2, which is how numpy stores bf16 without saying so.
Result<Tensor> read_npy(const std::string& path);
Result<Tensor> parse_npy(std::span<const std::byte> bytes);

// dtypes that numpy has: f64 f32 f16, i64..i8, u64..u8, bool, c64, c128, and strings as UTF-32 of a
// fixed width (what is no UTF-8 becomes U+FFFD). Whoever opens `path` sees the old file or the
// whole new one.
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace stoker
