// Which decoder the first bytes call for.
// SPDX-License-Identifier: Apache-2.0
#include "base/image.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "base/image_formats.h"

namespace stoker {

namespace {

using Decoder = Result<Image> (*)(ImageBytes);

// The libraries count bytes in int.
constexpr size_t kMaxBytes = size_t{1} << 30;

using std::string_view_literals::operator""sv;

bool starts_with(ImageBytes bytes, std::string_view magic, size_t at = 0) {
  return bytes.size() >= at + magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Decoder decoder_for(ImageBytes bytes) {
  if (starts_with(bytes, "\xff\xd8\xff"sv)) return decode_jpeg;
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n"sv) || starts_with(bytes, "BM"sv)) return decode_stb;
  if (starts_with(bytes, "RIFF"sv) && starts_with(bytes, "WEBP"sv, 8)) return decode_webp;
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (starts_with(bytes, magic)) return decode_tiff;
  }
  for (const std::string_view magic : {"\0\0\0\x0cjP  \r\n\x87\n"sv, "\xff\x4f\xff\x51"sv}) {
    if (starts_with(bytes, magic)) return decode_jpeg2000;
  }
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6') return decode_pnm;
  return nullptr;
}

}  // namespace

Result<Image> make_image(int64_t width, int64_t height) {
  if (width < 1 || height < 1)
    return corrupt_file("an image of {} x {} pixels has no content", width, height);
  if (width > kMaxImagePixels || height > kMaxImagePixels || width * height > kMaxImagePixels) {
    return error(StatusCode::kResourceExhausted,
                 "an image of {} x {} pixels is larger than the limit of {} pixels", width, height,
                 kMaxImagePixels);
  }
  Image image{height, width, {}};
  image.rgb.resize(static_cast<size_t>(width * height * 3));
  return image;
}

Result<Image> decode_image(ImageBytes bytes) {
  if (bytes.size() > kMaxBytes) {
    return error(StatusCode::kResourceExhausted, "{} bytes of image are more than the limit of {}",
                 bytes.size(), kMaxBytes);
  }
  const Decoder decode = decoder_for(bytes);
  if (!decode) {
    return corrupt_file(
        "{} bytes that are no image of a known format; expected JPEG, PNG, BMP, PNM, TIFF, WebP or "
        "JPEG 2000",
        bytes.size());
  }
  try {
    return decode(bytes);
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResourceExhausted, "no memory to decode an image");
  }
}

}  // namespace stoker
