// WebP by libwebp; of an animation nothing is decoded.
// SPDX-License-Identifier: Apache-2.0
#include <webp/decode.h>

#include "base/image_formats.h"

namespace stoker {

Result<Image> decode_webp(ImageBytes bytes) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    return corrupt_file("WebP image: its header is not valid");
  if (features.has_animation)
    return corrupt_file("WebP image: it is an animation, expected one picture");
  STOKER_ASSIGN(Image image, make_image(features.width, features.height));
  if (!WebPDecodeRGBInto(bytes.data(), bytes.size(), image.rgb.data(), image.rgb.size(),
                         static_cast<int>(image.width * 3))) {
    return corrupt_file("WebP image: it is damaged or ends before its last pixel");
  }
  return image;
}

}  // namespace stoker
