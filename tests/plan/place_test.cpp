// Arena placement: never two live buffers in one place, and close to the liveness bound.
// SPDX-License-Identifier: Apache-2.0
#include "plan/place.h"

#include <gtest/gtest.h>

#include <random>

namespace stoker {
namespace {

bool overlap_in_time(const BufferLifetime& a, const BufferLifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}
bool overlap_in_space(const BufferLifetime& a, const BufferLifetime& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

TEST(PlaceBuffers, LiveBuffersNeverShareMemory) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferLifetime> buffers(1 + random() % 60);
    for (BufferLifetime& buffer : buffers) {
      buffer.bytes = random() % 5 == 0 ? 0 : static_cast<int64_t>(random() % 5000);
      buffer.first = static_cast<int32_t>(random() % 30);
      buffer.last = buffer.first + static_cast<int32_t>(random() % 6);
    }
    const int64_t arena = place_buffers(buffers, true);
    EXPECT_GE(arena, liveness_bound(buffers));
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % 64, 0);
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, arena);
      for (size_t j = i + 1; j < buffers.size(); ++j) {
        if (!buffers[i].bytes || !buffers[j].bytes || !overlap_in_time(buffers[i], buffers[j]))
          continue;
        EXPECT_FALSE(overlap_in_space(buffers[i], buffers[j]))
            << "round " << round << ": " << i << " and " << j;
      }
    }
  }
}

// More than the search takes: those of small size are placed by time.
TEST(PlaceBuffers, ManyBuffersNeverShareMemory) {
  std::mt19937 random(8);
  std::vector<BufferLifetime> buffers(9000);
  for (BufferLifetime& buffer : buffers) {
    buffer.bytes = static_cast<int64_t>(random() % 5000);
    buffer.first = static_cast<int32_t>(random() % 3000);
    buffer.last = buffer.first + static_cast<int32_t>(random() % 6);
  }
  const int64_t arena = place_buffers(buffers, true);
  EXPECT_LE(arena, 2 * liveness_bound(buffers));
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i].offset % 64, 0);
    EXPECT_LE(buffers[i].offset + buffers[i].bytes, arena);
    for (size_t j = i + 1; j < buffers.size(); ++j) {
      if (!buffers[i].bytes || !buffers[j].bytes || !overlap_in_time(buffers[i], buffers[j]))
        continue;
      ASSERT_FALSE(overlap_in_space(buffers[i], buffers[j])) << i << " and " << j;
    }
  }
}

TEST(PlaceBuffers, AChainUsesTwoBuffersOnly) {
  std::vector<BufferLifetime> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back({1024, i, i + 1, 0});
  EXPECT_EQ(place_buffers(buffers, true), 2048);
  EXPECT_EQ(place_buffers(buffers, false), 20 * 1024);
}

TEST(PlaceBuffers, LivenessBoundIsTheWidestMoment) {
  EXPECT_EQ(liveness_bound({{64, 0, 2, 0}, {128, 1, 1, 0}, {256, 3, 4, 0}}), 256);
  EXPECT_EQ(liveness_bound({{64, 0, 2, 0}, {128, 1, 1, 0}, {256, 2, 4, 0}}), 320);
  EXPECT_EQ(liveness_bound({}), 0);
}

}  // namespace
}  // namespace stoker
