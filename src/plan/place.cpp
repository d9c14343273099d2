// SPDX-License-Identifier: Apache-2.0
#include "plan/place.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/memory.h"

namespace stoker {
namespace {

struct Range {
  int64_t begin, end;
};

// The start of the tightest gap of at least `bytes` between the sorted ranges, or their end.
int64_t best_gap(std::vector<Range>& taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t end = 0, best = -1, best_size = INT64_MAX;
  for (const Range& range : taken) {
    const int64_t gap = range.begin - end;
    if (gap >= bytes && gap < best_size) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, range.end);
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t place_buffers(std::vector<BufferLifetime>& buffers, bool reuse) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  int64_t arena = 0;
  std::vector<size_t> placed;
  std::vector<Range> taken;
  for (const size_t index : order) {
    BufferLifetime& buffer = buffers[index];
    const int64_t bytes = round_up(buffer.bytes, kTensorAlignment);
    if (bytes == 0) continue;
    if (!reuse) {
      buffer.offset = arena;
      arena += bytes;
      continue;
    }
    taken.clear();
    for (const size_t other : placed) {
      const BufferLifetime& b = buffers[other];
      if (b.first <= buffer.last && buffer.first <= b.last) {
        taken.push_back({b.offset, b.offset + round_up(b.bytes, kTensorAlignment)});
      }
    }
    buffer.offset = best_gap(taken, bytes);
    arena = std::max(arena, buffer.offset + bytes);
    placed.push_back(index);
  }
  return arena;
}

int64_t liveness_bound(const std::vector<BufferLifetime>& buffers) {
  std::map<int32_t, int64_t> change;
  for (const BufferLifetime& buffer : buffers) {
    const int64_t bytes = round_up(buffer.bytes, kTensorAlignment);
    change[buffer.first] += bytes;
    change[buffer.last + 1] -= bytes;
  }
  int64_t alive = 0, most = 0;
  for (const auto& [stage, delta] : change) {
    alive += delta;
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace stoker
