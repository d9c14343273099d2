// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <cstdlib>
#include <cstring>

namespace stoker {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

uint64_t machine_memory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return uint64_t{1} << 46;
  return (uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

}  // namespace

bool memory_may_hold(int64_t bytes) {
  static const uint64_t most = machine_memory();
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_DATA, &limit) == 0;
  return bytes >= 0 && static_cast<uint64_t>(bytes) <= most &&
         (!limited || static_cast<uint64_t>(bytes) <= limit.rlim_cur);
}

std::shared_ptr<void> allocate_aligned(int64_t bytes) {
  if (bytes < 0) return nullptr;
  if (bytes < 2 * kHugePage) {
    const int64_t size = round_up(bytes > 0 ? bytes : 1, kTensorAlignment);
    void* data = std::aligned_alloc(kTensorAlignment, static_cast<size_t>(size));
    if (!data) return nullptr;
    std::memset(data, 0, static_cast<size_t>(size));
    return {data, std::free};
  }
  if (!memory_may_hold(bytes)) return nullptr;
  // Map one page more than needed and start at the first 2 MiB border; fresh pages are zero.
  const size_t mapped = static_cast<size_t>(round_up(bytes, kHugePage) + kHugePage);
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const auto start = round_up(static_cast<int64_t>(reinterpret_cast<uintptr_t>(base)), kHugePage);
  void* data = reinterpret_cast<void*>(static_cast<uintptr_t>(start));
  madvise(data, static_cast<size_t>(round_up(bytes, kHugePage)), MADV_HUGEPAGE);
  return {data, [base, mapped](void*) { munmap(base, mapped); }};
}

}  // namespace stoker
