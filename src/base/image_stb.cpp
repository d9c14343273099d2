// PNG and BMP by stb_image.
// SPDX-License-Identifier: Apache-2.0
#include "base/image_formats.h"

#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstring>

namespace stoker {

namespace {

// The library takes memory for what a chunk of a PNG says, before it finds that the file ends.
Status check_png_chunks(ImageBytes bytes) {
  constexpr size_t kSignature = 8, kHead = 8, kChecksum = 4;
  for (size_t at = kSignature; bytes.size() - at >= kHead;) {
    const size_t length = size_t{bytes[at]} << 24 | size_t{bytes[at + 1]} << 16 |
                          size_t{bytes[at + 2]} << 8 | size_t{bytes[at + 3]};
    const size_t rest = bytes.size() - at - kHead;
    if (length > rest) {
      return corrupt_file(
          "PNG image: a chunk of {} bytes where the file has {} more; copy it again", length, rest);
    }
    if (std::memcmp(bytes.data() + at + 4, "IEND", 4) == 0) break;  // nothing behind it is read
    at += kHead + std::min(length + kChecksum, rest);
  }
  return Status::ok();
}

}  // namespace

Result<Image> decode_stb(ImageBytes bytes) {
  int width = 0, height = 0, channels = 0;
  const int size = static_cast<int>(bytes.size());
  if (bytes[0] != 'B') STOKER_TRY(check_png_chunks(bytes));
  if (!stbi_info_from_memory(bytes.data(), size, &width, &height, &channels))
    return corrupt_file("PNG or BMP image: its header is damaged or asks for too large a picture");
  // Before memory is taken: a byte of BMP holds 8 pixels at most, one of PNG 1032 times as many.
  const int64_t most = static_cast<int64_t>(bytes.size()) * (bytes[0] == 'B' ? 8 : 8 * 1032);
  if (int64_t{width} * height > most)
    return corrupt_file("PNG or BMP image: it ends before its last pixel");
  STOKER_ASSIGN(Image image, make_image(width, height));
  stbi_uc* pixels = stbi_load_from_memory(bytes.data(), size, &width, &height, &channels, 3);
  if (!pixels) {
    return corrupt_file("PNG or BMP image: cut or damaged ({}); copy it again",
                        stbi_failure_reason());
  }
  const bool same = width == image.width && height == image.height;
  if (same) std::memcpy(image.rgb.data(), pixels, image.rgb.size());
  stbi_image_free(pixels);
  if (!same) return corrupt_file("PNG or BMP image: two different sizes are given");
  return image;
}

}  // namespace stoker
