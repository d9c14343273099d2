// Pictures of every format: pixels or an error.
// SPDX-License-Identifier: Apache-2.0
#include "base/image.h"

#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = stoker::decode_image(std::span(data, size));
  if (!image) return 0;
  const auto pixels = static_cast<size_t>(image->height) * static_cast<size_t>(image->width);
  if (image->rgb.size() != 3 * pixels) abort();
  return 0;
}
