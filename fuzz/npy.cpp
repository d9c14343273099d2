// .npy files: a tensor or an error.
// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)stoker::parse_npy(std::as_bytes(std::span(data, size)));
  return 0;
}
