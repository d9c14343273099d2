// SPDX-License-Identifier: Apache-2.0
#include "base/wav.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "base/status.h"

namespace stoker {
namespace {

constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
constexpr int64_t kMaxChannels = 64, kMaxRate = 4'000'000;

struct Format {
  uint16_t encoding = 0;
  int64_t channels = 0, rate = 0, bits = 0;
};

uint32_t little(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint32_t{bytes[at + i]} << (8 * i);
  return value;
}

bool has_tag(std::span<const uint8_t> bytes, size_t at, const char* tag) {
  return bytes.size() >= at + 4 && std::memcmp(bytes.data() + at, tag, 4) == 0;
}

Result<Format> parse_format(std::span<const uint8_t> chunk) {
  if (chunk.size() < 16) return corrupt_file("sound: a fmt chunk of {} bytes", chunk.size());
  Format format{static_cast<uint16_t>(little(chunk, 0, 2)), little(chunk, 2, 2),
                little(chunk, 4, 4), little(chunk, 14, 2)};
  // The extensible form keeps the encoding in the first two bytes of a GUID.
  if (format.encoding == kExtensible && chunk.size() >= 26)
    format.encoding = static_cast<uint16_t>(little(chunk, 24, 2));
  const bool pcm =
      format.encoding == kPcm && format.bits % 8 == 0 && format.bits >= 8 && format.bits <= 32;
  const bool real = format.encoding == kFloat && (format.bits == 32 || format.bits == 64);
  if (!pcm && !real) {
    return unsupported(
        "sound: encoding {} with {} bits; PCM of 8 to 32 bits and IEEE floats are read",
        format.encoding, format.bits);
  }
  if (format.channels < 1 || format.channels > kMaxChannels || format.rate < 1 ||
      format.rate > kMaxRate) {
    return corrupt_file("sound: {} channels at {} samples per second", format.channels,
                        format.rate);
  }
  return format;
}

double sample_at(std::span<const uint8_t> data, size_t at, const Format& format) {
  const auto bytes = static_cast<size_t>(format.bits / 8);
  if (format.encoding == kFloat) {
    if (bytes == 4) {
      float value;
      std::memcpy(&value, data.data() + at, sizeof value);
      return double{value};
    }
    double value;
    std::memcpy(&value, data.data() + at, sizeof value);
    return value;
  }
  if (bytes == 1) return (data[at] - 128) / 128.0;  // the only unsigned form
  // Shifted up, so that the sign is the top bit.
  const auto value = static_cast<int32_t>(little(data, at, bytes) << (8 * (4 - bytes)));
  return value / 2147483648.0;
}

std::vector<float> mean_of_channels(std::span<const uint8_t> data, const Format& format) {
  const auto bytes = static_cast<size_t>(format.bits / 8);
  const auto channels = static_cast<size_t>(format.channels);
  std::vector<float> samples(data.size() / (bytes * channels));
  for (size_t i = 0; i < samples.size(); ++i) {
    double sum = 0;
    for (size_t c = 0; c < channels; ++c)
      sum += sample_at(data, (i * channels + c) * bytes, format);
    samples[i] = static_cast<float>(sum / static_cast<double>(channels));
  }
  return samples;
}

}  // namespace

Result<Sound> decode_wav(std::span<const uint8_t> bytes) {
  if (!has_tag(bytes, 0, "RIFF") || !has_tag(bytes, 8, "WAVE"))
    return corrupt_file("sound: the file does not begin with RIFF and WAVE");
  std::optional<Format> format;
  for (size_t at = 12; bytes.size() - at >= 8;) {
    const size_t size = little(bytes, at + 4, 4), rest = bytes.size() - at - 8;
    const bool is_data = has_tag(bytes, at, "data");
    // Programs that stream leave the size of the last chunk open.
    if (size > rest && !is_data) return corrupt_file("sound: a chunk reaches past the end");
    const auto chunk = bytes.subspan(at + 8, std::min(size, rest));
    if (has_tag(bytes, at, "fmt ")) {
      STOKER_ASSIGN(format, parse_format(chunk));
    } else if (is_data) {
      if (!format) return corrupt_file("sound: samples stand before their format");
      return Sound{format->rate, format->channels, mean_of_channels(chunk, *format)};
    }
    at += 8 + std::min(size + size % 2, rest);
  }
  return corrupt_file("sound: the file holds no samples");
}

}  // namespace stoker
