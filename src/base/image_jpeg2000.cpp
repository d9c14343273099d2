// JPEG 2000 (JP2 files and bare codestreams) by OpenJPEG.
// SPDX-License-Identifier: Apache-2.0
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/image_formats.h"

namespace stoker {

namespace {

// A file in memory, as OpenJPEG's callbacks see it.
struct MemoryFile {
  ImageBytes bytes;
  size_t at = 0;
};

OPJ_SIZE_T read(void* to, OPJ_SIZE_T size, void* data) {
  MemoryFile* file = static_cast<MemoryFile*>(data);
  const size_t count = std::min<size_t>(size, file->bytes.size() - file->at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, file->bytes.data() + file->at, count);
  file->at += count;
  return count;
}

OPJ_OFF_T skip(OPJ_OFF_T count, void* data) {
  MemoryFile* file = static_cast<MemoryFile*>(data);
  if (count < 0) return -1;
  const size_t step = std::min<size_t>(static_cast<size_t>(count), file->bytes.size() - file->at);
  file->at += step;
  return static_cast<OPJ_OFF_T>(step);
}

OPJ_BOOL seek(OPJ_OFF_T offset, void* data) {
  MemoryFile* file = static_cast<MemoryFile*>(data);
  if (offset < 0 || static_cast<size_t>(offset) > file->bytes.size()) return OPJ_FALSE;
  file->at = static_cast<size_t>(offset);
  return OPJ_TRUE;
}

using Stream = std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)>;
using Codec = std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)>;
using Picture = std::unique_ptr<opj_image_t, void (*)(opj_image_t*)>;

Stream open(MemoryFile& file) {
  Stream stream(opj_stream_default_create(OPJ_TRUE),
                [](opj_stream_t* s) { opj_stream_destroy(s); });
  if (!stream) return stream;
  opj_stream_set_user_data(stream.get(), &file, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.bytes.size());
  opj_stream_set_read_function(stream.get(), read);
  opj_stream_set_skip_function(stream.get(), skip);
  opj_stream_set_seek_function(stream.get(), seek);
  return stream;
}

// One component at the image's resolution, as 0..255.
class Plane {
 public:
  Plane(const opj_image_t& image, size_t i) : component_(image.comps[i]) {}
  bool usable() const {
    return component_.data && component_.w > 0 && component_.h > 0 && component_.prec >= 1 &&
           component_.prec <= 31 && component_.dx > 0 && component_.dy > 0;
  }
  uint8_t at(int64_t x, int64_t y) const {
    const int64_t column = std::min<int64_t>(x / component_.dx, component_.w - 1);
    const int64_t row = std::min<int64_t>(y / component_.dy, component_.h - 1);
    int64_t value = component_.data[row * component_.w + column];
    if (component_.sgnd) value += int64_t{1} << (component_.prec - 1);
    const int shift = static_cast<int>(component_.prec) - 8;
    value = shift >= 0 ? value >> shift : value * 255 / ((1 << component_.prec) - 1);
    return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
  }

 private:
  const opj_image_comp_t& component_;
};

uint8_t rounded(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

void from_ycc(uint8_t* rgb) {
  const double y = rgb[0], cb = rgb[1] - 128.0, cr = rgb[2] - 128.0;
  rgb[0] = rounded(y + 1.402 * cr);
  rgb[1] = rounded(y - 0.344136 * cb - 0.714136 * cr);
  rgb[2] = rounded(y + 1.772 * cb);
}

Result<Image> to_rgb(const opj_image_t& picture, Image image) {
  const bool inks = picture.color_space == OPJ_CLRSPC_CMYK && picture.numcomps >= 4;
  const bool ycc = picture.color_space == OPJ_CLRSPC_SYCC || picture.color_space == OPJ_CLRSPC_EYCC;
  const size_t used = inks ? 4 : picture.numcomps >= 3 ? 3 : 1;
  std::vector<Plane> planes;
  for (size_t i = 0; i < used; ++i) {
    planes.emplace_back(picture, i);
    if (!planes.back().usable())
      return corrupt_file("JPEG 2000 image: component {} has no pixels", i);
  }
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      uint8_t* rgb = image.rgb.data() + (y * image.width + x) * 3;
      for (size_t k = 0; k < 3; ++k) rgb[k] = planes[used == 1 ? 0 : k].at(x, y);
      if (ycc && used == 3) from_ycc(rgb);
      if (inks) {
        const int light = 255 - planes[3].at(x, y);
        for (size_t k = 0; k < 3; ++k) rgb[k] = static_cast<uint8_t>((255 - rgb[k]) * light / 255);
      }
    }
  }
  return image;
}

}  // namespace

Result<Image> decode_jpeg2000(ImageBytes bytes) {
  MemoryFile file{bytes};
  const Stream stream = open(file);
  const Codec codec(opj_create_decompress(bytes[0] == 0 ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K),
                    opj_destroy_codec);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  if (!stream || !codec || !opj_setup_decoder(codec.get(), &parameters) ||
      !opj_read_header(stream.get(), codec.get(), &header)) {
    return corrupt_file("JPEG 2000 image: its header is not valid");
  }
  const Picture picture(header, opj_image_destroy);
  // The library takes memory for every component.
  if (picture->x1 <= picture->x0 || picture->y1 <= picture->y0 || picture->numcomps < 1 ||
      picture->numcomps > 5) {
    return corrupt_file("JPEG 2000 image: {} components of no usable size", picture->numcomps);
  }
  STOKER_ASSIGN(Image image, make_image(picture->x1 - picture->x0, picture->y1 - picture->y0));
  if (!opj_decode(codec.get(), stream.get(), picture.get()))
    return corrupt_file("JPEG 2000 image: it is damaged or ends before its last pixel");
  return to_rgb(*picture, std::move(image));
}

}  // namespace stoker
