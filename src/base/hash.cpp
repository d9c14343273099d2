// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <fmt/core.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stoker {
namespace {

std::string hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string content_hash(std::span<const std::byte> bytes) {
  return hex(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string content_hash(const Tensor& tensor) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const std::string head = std::string(dtype_name(tensor.dtype())) + shape_text(tensor.shape());
  XXH3_128bits_update(&state, head.data(), head.size());
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.strings()) {
      const uint64_t size = s.size();
      XXH3_128bits_update(&state, &size, sizeof size);
      XXH3_128bits_update(&state, s.data(), s.size());
    }
  } else {
    XXH3_128bits_update(&state, tensor.data(), static_cast<size_t>(tensor.bytes()));
  }
  return hex(XXH3_128bits_digest(&state));
}

}  // namespace stoker
