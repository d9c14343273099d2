// Pictures, sound and .npy files: whatever the bytes, a value or an error.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "base/image.h"
#include "base/npy.h"
#include "base/wav.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(data, size);
  (void)stoker::decode_image(bytes);
  (void)stoker::decode_wav(bytes);
  (void)stoker::parse_npy(std::as_bytes(bytes));
  return 0;
}
