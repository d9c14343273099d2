// Sounds: samples or an error.
// SPDX-License-Identifier: Apache-2.0
#include "base/wav.h"

#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)stoker::decode_wav(std::span(data, size));
  return 0;
}
