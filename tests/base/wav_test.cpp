// Reading of sound files: encodings, channels, unknown chunks, hostile files.
// SPDX-License-Identifier: Apache-2.0
#include "base/wav.h"

#include <gtest/gtest.h>

#include <cstring>

namespace stoker {
namespace {

using Bytes = std::vector<uint8_t>;

void put(Bytes& to, uint32_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
void put(Bytes& to, const char* tag) { to.insert(to.end(), tag, tag + 4); }

Bytes format_chunk(uint16_t encoding, uint16_t channels, uint32_t rate, uint16_t bits) {
  Bytes chunk;
  put(chunk, "fmt ");
  put(chunk, 16, 4);
  put(chunk, encoding, 2);
  put(chunk, channels, 2);
  put(chunk, rate, 4);
  put(chunk, rate * channels * bits / 8, 4);
  put(chunk, channels * bits / 8u, 2);
  put(chunk, bits, 2);
  return chunk;
}

Bytes file(const Bytes& format, const Bytes& data, const Bytes& between = {}) {
  Bytes bytes;
  put(bytes, "RIFF");
  put(bytes, 0, 4);
  put(bytes, "WAVE");
  bytes.insert(bytes.end(), format.begin(), format.end());
  bytes.insert(bytes.end(), between.begin(), between.end());
  put(bytes, "data");
  put(bytes, static_cast<uint32_t>(data.size()), 4);
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::vector<float> samples(const Bytes& bytes) {
  const auto sound = decode_wav(bytes);
  EXPECT_TRUE(sound.is_ok()) << sound.status().message();
  return sound.is_ok() ? sound->samples : std::vector<float>{};
}

TEST(Wav, Encodings) {
  EXPECT_EQ(samples(file(format_chunk(1, 1, 16000, 8), {0, 128, 192})),
            (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(samples(file(format_chunk(1, 1, 16000, 16), {0, 0x80, 0, 0, 0, 0x40})),
            (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(samples(file(format_chunk(1, 1, 16000, 24), {0, 0, 0xC0, 1, 0, 0})),
            (std::vector<float>{-0.5f, 1.0f / (1 << 23)}));
  EXPECT_EQ(samples(file(format_chunk(1, 1, 16000, 32), {0, 0, 0, 0x20})),
            (std::vector<float>{0.25f}));
  Bytes data(4 + 4);
  const float values[] = {0.75f, -2.0f};
  std::memcpy(data.data(), values, sizeof values);
  EXPECT_EQ(samples(file(format_chunk(3, 1, 16000, 32), data)), (std::vector<float>{0.75f, -2.0f}));
}

TEST(Wav, ChannelsAreAveragedAndOtherChunksSkipped) {
  Bytes list;
  put(list, "LIST");
  put(list, 3, 4);
  list.insert(list.end(), {1, 2, 3, 0});  // odd sizes are padded
  const auto sound =
      decode_wav(file(format_chunk(1, 2, 44100, 16), {0, 0x40, 0, 0, 0, 0x20, 0, 0x60}, list));
  ASSERT_TRUE(sound.is_ok()) << sound.status().message();
  EXPECT_EQ(sound->rate, 44100);
  EXPECT_EQ(sound->channels, 2);
  EXPECT_EQ(sound->samples, (std::vector<float>{0.25f, 0.5f}));
}

TEST(Wav, AnOpenSizeTakesWhatIsThere) {
  Bytes bytes = file(format_chunk(1, 1, 8000, 16), {0, 0x40, 0, 0x40, 7});
  bytes[bytes.size() - 5 - 4 + 3] = 0xFF;
  EXPECT_EQ(samples(bytes), (std::vector<float>{0.5f, 0.5f}));
}

TEST(Wav, HostileFilesAreRefused) {
  const Bytes good = file(format_chunk(1, 1, 8000, 16), {0, 0});
  EXPECT_FALSE(decode_wav({}).is_ok());
  EXPECT_FALSE(decode_wav(file({}, {0, 0})).is_ok());                            // no format
  EXPECT_FALSE(decode_wav(file(format_chunk(1, 0, 8000, 16), {0, 0})).is_ok());  // no channel
  EXPECT_FALSE(decode_wav(file(format_chunk(1, 1, 0, 16), {0, 0})).is_ok());
  EXPECT_FALSE(decode_wav(file(format_chunk(1, 1, 8000, 12), {0, 0})).is_ok());
  EXPECT_EQ(decode_wav(file(format_chunk(6, 1, 8000, 8), {0})).status().code(),
            StatusCode::kUnsupported);  // A-law
  for (size_t size = 0; size < good.size(); ++size) (void)decode_wav(std::span(good.data(), size));
  for (size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0xFF;
    (void)decode_wav(bad);
  }
}

}  // namespace
}  // namespace stoker
