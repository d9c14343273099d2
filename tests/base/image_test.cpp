// Images of every format against what another decoder (Pillow 13) made of them, and damaged ones.
// SPDX-License-Identifier: Apache-2.0
#include "base/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace stoker {
namespace {

const std::string kFolder = std::string(STOKER_SOURCE_DIR) + "/tests/base/fixtures";
constexpr int64_t kWidth = 18, kHeight = 13;  // of all fixtures

std::vector<uint8_t> read_bytes(const std::string& name) {
  std::ifstream file(kFolder + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> image_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(STOKER_SOURCE_DIR) +
                                                               "/tests/base/fixtures")) {
    if (entry.path().extension() != ".rgb") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Images : public testing::TestWithParam<std::string> {};

TEST_P(Images, DecodeToTheSamePixels) {
  const auto image = decode_image(read_bytes(GetParam()));
  ASSERT_TRUE(image.is_ok()) << image.status().message();
  EXPECT_EQ(image->width, kWidth);
  EXPECT_EQ(image->height, kHeight);
  EXPECT_EQ(image->rgb, read_bytes(GetParam() + ".rgb"));
}

TEST_P(Images, DamagedOnesAreNoCrash) {
  const std::vector<uint8_t> bytes = read_bytes(GetParam());
  for (size_t size = 0; size < bytes.size(); size += 7) {
    (void)decode_image(std::span(bytes).first(size));
  }
  uint64_t state = 1;
  for (int round = 0; round < 400; ++round) {
    std::vector<uint8_t> damaged = bytes;
    for (int k = 0; k <= round % 3; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Half of the hits in the header, where sizes and counts stand.
      const size_t range = round % 2 ? damaged.size() : std::min<size_t>(damaged.size(), 64);
      damaged[(state >> 33) % range] = static_cast<uint8_t>(state >> 24);
    }
    const auto image = decode_image(damaged);
    if (image.is_ok()) {
      EXPECT_EQ(static_cast<int64_t>(image->rgb.size()), image->width * image->height * 3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Images, testing::ValuesIn(image_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

Result<Image> decode_text(const std::string& text) {
  return decode_image(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

std::vector<uint8_t> grays_of(const std::string& text) {
  const auto image = decode_text(text);
  if (!image.is_ok()) return {};
  std::vector<uint8_t> grays;
  for (size_t i = 0; i < image->rgb.size(); i += 3) {
    EXPECT_EQ(image->rgb[i], image->rgb[i + 1]);
    EXPECT_EQ(image->rgb[i], image->rgb[i + 2]);
    grays.push_back(image->rgb[i]);
  }
  return grays;
}

TEST(Anymaps, EveryKind) {
  using namespace std::string_literals;
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(grays_of("P1\n# bits need no blanks\n3 2 101 0 1 0"), (Bytes{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(grays_of("P2 2 1 15\n15 3"), (Bytes{255, 51}));
  EXPECT_EQ(grays_of("P4 9 1\n\xaa\x80"s), (Bytes{0, 255, 0, 255, 0, 255, 0, 255, 0}));
  EXPECT_EQ(grays_of("P5 2 1 255\n\x07\xff"s), (Bytes{7, 255}));
  EXPECT_EQ(grays_of("P5 2 1 65535\n\x80\x00\xff\xff"s), (Bytes{128, 255}));
  EXPECT_EQ(decode_text("P3 1 1 255 1 2 3")->rgb, (Bytes{1, 2, 3}));
  EXPECT_EQ(decode_text("P6 1 1 255\n\x01\x02\x03"s)->rgb, (Bytes{1, 2, 3}));
}

TEST(Anymaps, WhatIsMissingIsAnError) {
  for (const char* text :
       {"P5", "P5 2", "P5 2 2 255\nabc", "P2 2 1 255 1", "P1 2 1 12", "P5 0 4 255 ",
        "P5 2 2 0\nabcd", "P5 2 2 70000\nabcdefgh", "P3 99999999999 1 255 "}) {
    const auto image = decode_text(text);
    ASSERT_FALSE(image.is_ok()) << text;
    EXPECT_EQ(image.status().code(), StatusCode::kCorruptFile) << image.status().message();
  }
  const auto huge = decode_text("P5 100000 100000 255\n");
  EXPECT_EQ(huge.status().code(), StatusCode::kResourceExhausted) << huge.status().message();
}

// Found by fuzz/image.cpp: 2 GiB were asked for what the second chunk says it holds.
TEST(ImageBytes, PngChunksEndWithTheFile) {
  std::vector<uint8_t> bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto add = [&](std::initializer_list<uint8_t> more) { bytes.insert(bytes.end(), more); };
  add({0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 0, 0, 8, 0, 0, 0, 8, 8, 4, 0, 0, 0});
  add({0, 0, 0, 0});  // its checksum, which is not looked at
  add({0x40, 0, 0, 0, 'I', 'D', 'A', 'T', 1, 2, 3, 4});
  const auto image = decode_image(bytes);
  ASSERT_FALSE(image.is_ok());
  EXPECT_EQ(image.status().message(),
            "PNG image: a chunk of 1073741824 bytes where the file has 4 more; copy it again");
}

TEST(ImageBytes, UnknownOnesAreNamed) {
  const auto image = decode_text("GIF89a");
  ASSERT_FALSE(image.is_ok());
  EXPECT_NE(image.status().message().find("no image of a known format"), std::string::npos);
  EXPECT_FALSE(decode_image({}).is_ok());
}

}  // namespace
}  // namespace stoker
