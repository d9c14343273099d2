// SPDX-License-Identifier: Apache-2.0
#include "base/hash_stream.h"

#include "base/status.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stoker {

struct HashStream::State {
  XXH3_state_t xxh;  // 64-byte aligned by its type
  Width width;
};

HashStream::HashStream(Width width) : state_(std::make_unique<State>()) {
  state_->width = width;
  if (width == Width::k64) {
    XXH3_64bits_reset(&state_->xxh);
  } else {
    XXH3_128bits_reset(&state_->xxh);
  }
}
HashStream::~HashStream() = default;
HashStream::HashStream(HashStream&&) noexcept = default;
HashStream& HashStream::operator=(HashStream&&) noexcept = default;

void HashStream::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (state_->width == Width::k64) {
    XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
  } else {
    XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  }
}

uint64_t HashStream::digest64() const {
  STOKER_CHECK(state_->width == Width::k64);
  return XXH3_64bits_digest(&state_->xxh);
}

std::string HashStream::digest128() const {
  STOKER_CHECK(state_->width == Width::k128);
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace stoker
