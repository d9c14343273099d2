// HashStream: XXH3 over bytes that arrive in pieces. Not for secrets, not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace stoker {

class HashStream {
 public:
  enum class Width { k64, k128 };
  explicit HashStream(Width width);
  ~HashStream();
  HashStream(HashStream&&) noexcept;
  HashStream& operator=(HashStream&&) noexcept;

  void update(std::span<const std::byte> bytes);
  uint64_t digest64() const;      // of a k64 stream; equals hash64 of the joined bytes
  std::string digest128() const;  // of a k128 stream; equals content_hash of the joined bytes

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker
