// The clock that kernels, steps and devices are timed by.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace stoker {

// Nanoseconds since some fixed point; never goes back.
inline double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace stoker
