// Decoding of encoded images (JPEG, PNG, BMP, PNM, TIFF, WebP, JPEG 2000) to 8-bit RGB. The bytes
// may be hostile: sizes are checked before memory is taken.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stoker/status.h"

namespace stoker {

struct Image {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;  // [height][width][3]; an alpha channel is dropped
};

// corrupt_file when the bytes are no image of these formats, resource_exhausted when it is larger
// than kMaxImagePixels.
Result<Image> decode_image(std::span<const uint8_t> bytes);

inline constexpr int64_t kMaxImagePixels = int64_t{1} << 27;

// 8-bit luma (ITU-R BT.601) of one pixel.
inline uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

}  // namespace stoker
