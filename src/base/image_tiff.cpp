// TIFF by libtiff, the first directory of the file.
// SPDX-License-Identifier: Apache-2.0
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/image_formats.h"

namespace stoker {

namespace {

constexpr tmsize_t kMaxAllocation = tmsize_t{1} << 30;

// A file in memory, as libtiff's callbacks see it.
struct MemoryFile {
  ImageBytes bytes;
  uint64_t at = 0;
};

tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
  MemoryFile* file = static_cast<MemoryFile*>(handle);
  if (file->at >= file->bytes.size() || size <= 0) return 0;
  const size_t count = std::min<size_t>(static_cast<size_t>(size), file->bytes.size() - file->at);
  std::memcpy(to, file->bytes.data() + file->at, count);
  file->at += count;
  return static_cast<tmsize_t>(count);
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  MemoryFile* file = static_cast<MemoryFile*>(handle);
  const uint64_t base = whence == SEEK_CUR ? file->at : whence == SEEK_END ? file->bytes.size() : 0;
  file->at = base + offset;  // wraps for negative offsets, as it must
  return file->at;
}

// Keeps the first message instead of printing it.
int keep_message(TIFF*, void* message, const char*, const char* format, va_list) {
  std::string* text = static_cast<std::string*>(message);
  if (text->empty() && format) *text = format;
  return 1;
}
int ignore_message(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using Handle = std::unique_ptr<TIFF, CloseTiff>;

Handle open(MemoryFile& file, std::string& message) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (!options) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_message, &message);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_message, nullptr);
  return Handle(TIFFClientOpenExt(
      "image", "rm", &file, read, [](thandle_t, void*, tmsize_t) { return tmsize_t{0}; }, seek,
      [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<MemoryFile*>(handle)->bytes.size(); },
      nullptr, nullptr, options.get()));
}

}  // namespace

Result<Image> decode_tiff(ImageBytes bytes) {
  MemoryFile file{bytes};
  std::string message;
  const Handle tiff = open(file, message);
  const auto failed = [&] {
    return corrupt_file("TIFF image: {}", message.empty() ? "it cannot be decoded" : message);
  };
  if (!tiff) return failed();
  uint32_t width = 0, height = 0;
  if (!TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) ||
      !TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height)) {
    return corrupt_file("TIFF image: its size is missing");
  }
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_COMPRESSION, &compression);
  // Before memory is taken: a byte holds 8 pixels at most.
  if (compression == COMPRESSION_NONE && uint64_t{width} * height > 8 * bytes.size())
    return corrupt_file("TIFF image: it ends before its last pixel");
  STOKER_ASSIGN(Image image, make_image(width, height));
  std::vector<uint32_t> pixels(image.rgb.size() / 3);
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, pixels.data(), ORIENTATION_TOPLEFT, 1))
    return failed();
  for (size_t i = 0; i < pixels.size(); ++i) {
    image.rgb[i * 3] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
    image.rgb[i * 3 + 1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
    image.rgb[i * 3 + 2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
  }
  return image;
}

}  // namespace stoker
