// Timing caches: damaged ones give no timings, or some that were never taken, but do no harm.
// SPDX-License-Identifier: Apache-2.0
#include "tune/timing_cache.h"
#include "base/log.h"
#include "tests/engine/bytes_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stoker::set_log_level(stoker::LogLevel::kError);
  const stoker::test::BytesFile file(data, size);
  const auto cache = stoker::TimingCache::open(file.path(), "machine");
  if (!cache) return 0;
  (*cache)->add({"desc", "tactic", "config", 1, 2}, {1, 2, 3});
  (void)(*cache)->commit();
  return 0;
}
