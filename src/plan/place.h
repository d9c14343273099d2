// Arena placement: offsets for buffers with lifetimes measured in stages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

struct BufferLifetime {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // stages, both inclusive
  int64_t offset = 0;           // filled by place_buffers
};

// Greedy by size with the best-fitting gap: larger buffers first, each at the lowest gap that
// wastes least among the buffers it overlaps in time. Offsets are multiples of 64. With `reuse` off
// all buffers get memory of their own. Returns the arena's bytes. Deterministic. Source: "Efficient
// Memory Management for Deep Neural Net Inference", Pisarchyk and Lee, 2020 (greedy by size).
// Past the 4096 largest, which such a search still takes, the small ones lie behind these and reuse
// their memory in the order of time.
int64_t place_buffers(std::vector<BufferLifetime>& buffers, bool reuse);

// The most bytes alive at one stage: no placement can use less.
int64_t liveness_bound(const std::vector<BufferLifetime>& buffers);

}  // namespace stoker
