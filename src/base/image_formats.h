// The decoders behind decode_image, one file each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/image.h"
#include "base/status.h"

namespace stoker {

using ImageBytes = std::span<const uint8_t>;

// An image of that size with black pixels, or an error that says why there is none.
Result<Image> make_image(int64_t width, int64_t height);

Result<Image> decode_jpeg(ImageBytes bytes);
Result<Image> decode_stb(ImageBytes bytes);  // PNG and BMP
Result<Image> decode_pnm(ImageBytes bytes);
Result<Image> decode_tiff(ImageBytes bytes);
Result<Image> decode_webp(ImageBytes bytes);
Result<Image> decode_jpeg2000(ImageBytes bytes);

}  // namespace stoker
