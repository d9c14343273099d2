// Counts the allocations of a program: linking this replaces its operator new. Under the
// sanitizers, which bring their own, nothing is counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stoker::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// By operator new since the start, in all threads.
int64_t allocations();

}  // namespace stoker::test
