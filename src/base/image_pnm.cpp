// Portable anymaps: P1 to P6, plain and raw, one or two bytes a sample.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/image_formats.h"

namespace stoker {

namespace {

class Scanner {
 public:
  explicit Scanner(ImageBytes bytes) : bytes_(bytes) {}

  // A decimal number after blanks and comments; -1 when there is none or it is too large.
  int64_t number() {
    skip_blanks();
    const size_t start = at_;
    int64_t value = 0;
    for (; at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9'; ++at_) {
      value = value * 10 + (bytes_[at_] - '0');
      if (value > kMaxImagePixels) return -1;
    }
    return at_ == start ? -1 : value;
  }
  // One digit of a plain bitmap, whose pixels need no blanks between them.
  int64_t bit() {
    skip_blanks();
    if (at_ >= bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1')) return -1;
    return bytes_[at_++] - '0';
  }
  ImageBytes rest() const { return bytes_.subspan(at_); }
  void skip(size_t count) { at_ = std::min(at_ + count, bytes_.size()); }

 private:
  void skip_blanks() {
    for (; at_ < bytes_.size(); ++at_) {
      const uint8_t ch = bytes_[at_];
      if (ch == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
        if (at_ == bytes_.size()) return;
      } else if (ch != ' ' && (ch < '\t' || ch > '\r')) {
        return;
      }
    }
  }
  ImageBytes bytes_;
  size_t at_ = 0;
};

struct Header {
  int kind;  // 1 to 6
  int64_t width, height, largest;
  bool plain() const { return kind <= 3; }
  bool bits() const { return kind == 1 || kind == 4; }
  int64_t channels() const { return kind == 3 || kind == 6 ? 3 : 1; }
  // Of a raw file.
  int64_t row_bytes() const {
    return bits() ? (width + 7) / 8 : width * channels() * (largest > 255 ? 2 : 1);
  }
};

Status truncated() { return corrupt_file("PNM image: it ends before its last pixel"); }

// Samples of the whole image, scaled to 0..255.
Result<std::vector<uint8_t>> samples_of(const Header& h, Scanner& scanner) {
  const int64_t row = h.width * h.channels();
  std::vector<uint8_t> samples(static_cast<size_t>(row * h.height));
  const auto scaled = [&](int64_t v) {
    return static_cast<uint8_t>((std::min(v, h.largest) * 510 + h.largest) / (2 * h.largest));
  };
  if (h.plain()) {
    for (uint8_t& sample : samples) {
      const int64_t value = h.bits() ? scanner.bit() : scanner.number();
      if (value < 0) return truncated();
      sample = h.bits() ? static_cast<uint8_t>(value ? 0 : 255) : scaled(value);
    }
    return samples;
  }
  scanner.skip(1);  // the one blank after the header
  const ImageBytes data = scanner.rest();
  if (static_cast<int64_t>(data.size()) < h.row_bytes() * h.height) return truncated();
  for (int64_t y = 0; y < h.height; ++y) {
    const uint8_t* in = data.data() + y * h.row_bytes();
    uint8_t* out = samples.data() + y * row;
    for (int64_t x = 0; x < row; ++x) {
      if (h.bits()) {
        out[x] = (in[x / 8] >> (7 - x % 8)) & 1 ? 0 : 255;
      } else {
        out[x] = scaled(h.largest > 255 ? in[2 * x] << 8 | in[2 * x + 1] : in[x]);
      }
    }
  }
  return samples;
}

}  // namespace

Result<Image> decode_pnm(ImageBytes bytes) {
  Scanner scanner(bytes);
  scanner.skip(2);
  Header h{bytes[1] - '0', scanner.number(), scanner.number(), 1};
  if (!h.bits()) h.largest = scanner.number();
  if (h.width < 1 || h.height < 1 || h.largest < 1 || h.largest > 65535)
    return corrupt_file("PNM image: its header is not valid");
  // Before memory is taken: a raw image is never larger than its bytes, a plain one has two bytes a
  // sample but for bitmaps.
  const int64_t least = h.plain() ? 1 : 0;
  if (h.width > kMaxImagePixels / h.height) return make_image(h.width, h.height);
  if (static_cast<int64_t>(bytes.size()) < least * h.width * h.height) return truncated();
  if (!h.plain() && static_cast<int64_t>(bytes.size()) < h.row_bytes() * h.height)
    return truncated();
  STOKER_ASSIGN(Image image, make_image(h.width, h.height));
  STOKER_ASSIGN(const std::vector<uint8_t> samples, samples_of(h, scanner));
  const size_t step = h.channels() == 3 ? 1 : 3;
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = samples[i / step];
  return image;
}

}  // namespace stoker
