// SPDX-License-Identifier: Apache-2.0
#include "plan/place.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/memory.h"

namespace stoker {
namespace {

// So many buffers, the largest, are placed against each other; the search is quadratic in them.
constexpr size_t kMaxSearched = 4096;

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

int64_t padded(const BufferLifetime& buffer) { return round_up(buffer.bytes, kTensorAlignment); }

// Every buffer beside those before it that are alive with it. Returns the bytes used.
int64_t place_by_size(std::vector<BufferLifetime>& buffers, std::span<const size_t> order) {
  int64_t arena = 0;
  std::vector<Range> taken;
  for (size_t i = 0; i < order.size(); ++i) {
    BufferLifetime& buffer = buffers[order[i]];
    taken.clear();
    for (const size_t other : order.first(i)) {
      const BufferLifetime& b = buffers[other];
      if (b.first <= buffer.last && buffer.first <= b.last)
        taken.push_back({b.offset, b.offset + padded(b)});
    }
    buffer.offset = best_gap(taken, padded(buffer));
    arena = std::max(arena, buffer.offset + padded(buffer));
  }
  return arena;
}

// Placing large buffers first is nearly always the best order. Where it stays above the bound,
// others are tried: long-lived ones first, and again and again whatever stuck out last time in
// front. Returns the bytes used by the best.
int64_t place_by_best_order(std::vector<BufferLifetime>& buffers, std::span<const size_t> by_size,
                            int64_t bound) {
  constexpr size_t kMaxRetried = 512;
  constexpr int kRetries = 24;
  int64_t least = place_by_size(buffers, by_size);
  if (least <= bound || by_size.size() > kMaxRetried) return least;
  std::vector<BufferLifetime> best = buffers;
  const auto attempt = [&](const std::vector<size_t>& order) {
    const int64_t arena = place_by_size(buffers, order);
    if (arena < least) best = buffers;
    least = std::min(least, arena);
  };
  std::vector<size_t> by_life(by_size.begin(), by_size.end());
  std::stable_sort(by_life.begin(), by_life.end(), [&](size_t a, size_t b) {
    return buffers[a].last - buffers[a].first > buffers[b].last - buffers[b].first;
  });
  for (std::vector<size_t> order : {std::vector<size_t>(by_size.begin(), by_size.end()), by_life}) {
    attempt(order);
    for (int i = 0; i < kRetries && least > bound; ++i) {
      const auto top = std::max_element(order.begin(), order.end(), [&](size_t a, size_t b) {
        return buffers[a].offset + padded(buffers[a]) < buffers[b].offset + padded(buffers[b]);
      });
      std::rotate(order.begin(), top, top + 1);
      attempt(order);
    }
  }
  buffers = std::move(best);
  return least;
}

// Free memory below a growing end; neighbours are joined.
class FreeList {
 public:
  int64_t take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    int64_t offset = end_;
    if (fit != by_size_.end()) {
      const auto [size, begin] = *fit;
      remove(begin, size);
      if (size > bytes) add(begin + bytes, size - bytes);
      return begin;
    }
    // The last gap grows when it touches the end.
    if (!by_offset_.empty()) {
      const auto [begin, size] = *by_offset_.rbegin();
      if (begin + size == end_) {
        remove(begin, size);
        offset = begin;
      }
    }
    end_ = offset + bytes;
    most_ = std::max(most_, end_);
    return offset;
  }

  void give(int64_t begin, int64_t size) {
    auto after = by_offset_.lower_bound(begin);
    if (after != by_offset_.end() && after->first == begin + size) {
      size += after->second;
      remove(after->first, after->second);
    }
    after = by_offset_.lower_bound(begin);
    if (after != by_offset_.begin()) {
      const auto [before, bytes] = *std::prev(after);
      if (before + bytes == begin) {
        remove(before, bytes);
        begin = before;
        size += bytes;
      }
    }
    add(begin, size);
  }

  int64_t most() const { return most_; }

 private:
  void add(int64_t begin, int64_t size) {
    by_offset_[begin] = size;
    by_size_.insert({size, begin});
  }
  void remove(int64_t begin, int64_t size) {
    by_offset_.erase(begin);
    by_size_.erase({size, begin});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0, most_ = 0;
};

// The buffers in the order in which they come alive, each in the smallest free gap. Returns the
// bytes used, from `base` on.
int64_t place_by_time(std::vector<BufferLifetime>& buffers, std::span<const size_t> which,
                      int64_t base) {
  std::vector<size_t> by_first(which.begin(), which.end()), by_last = by_first;
  std::stable_sort(by_first.begin(), by_first.end(),
                   [&](size_t a, size_t b) { return buffers[a].first < buffers[b].first; });
  std::stable_sort(by_last.begin(), by_last.end(),
                   [&](size_t a, size_t b) { return buffers[a].last < buffers[b].last; });
  FreeList free;
  size_t ended = 0;
  for (const size_t index : by_first) {
    BufferLifetime& buffer = buffers[index];
    for (; buffers[by_last[ended]].last < buffer.first; ++ended) {
      const BufferLifetime& gone = buffers[by_last[ended]];
      free.give(gone.offset - base, padded(gone));
    }
    buffer.offset = base + free.take(padded(buffer));
  }
  return free.most();
}

}  // namespace

int64_t place_buffers(std::vector<BufferLifetime>& buffers, bool reuse) {
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  if (!reuse) {
    int64_t arena = 0;
    for (const size_t index : order) {
      buffers[index].offset = arena;
      arena += padded(buffers[index]);
    }
    return arena;
  }
  const std::span<const size_t> all(order);
  const size_t searched = std::min(all.size(), kMaxSearched);
  const int64_t large = place_by_best_order(buffers, all.first(searched), liveness_bound(buffers));
  return large + place_by_time(buffers, all.subspan(searched), large);
}

int64_t liveness_bound(const std::vector<BufferLifetime>& buffers) {
  std::map<int32_t, int64_t> change;
  for (const BufferLifetime& buffer : buffers) {
    const int64_t bytes = padded(buffer);
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
