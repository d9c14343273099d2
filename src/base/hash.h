// Hashes: XXH3, for content addresses and checksums. Not for secrets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "stoker/tensor.h"

namespace stoker {

uint64_t hash64(std::span<const std::byte> bytes);
// 128 bits as 32 hexadecimal digits.
std::string content_hash(std::span<const std::byte> bytes);
// Over dtype, shape and elements.
std::string content_hash(const Tensor& tensor);

}  // namespace stoker
