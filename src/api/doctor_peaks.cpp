// Peaks of this machine, measured with loops that nothing but the measured unit limits: twelve
// independent accumulators cover latency 4 x 2 ports and fit the registers of every level; loads go
// to registers that nobody reads. Assembly, so that no compiler flag changes what is measured.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>

#include "api/doctor.h"
#include "base/memory.h"
#include "base/worker_pool.h"
#include "device/cpu_info.h"
#include "device/isa.h"

namespace stoker {
namespace {

// Short and many: on a busy machine some of them run undisturbed.
constexpr double kRoundSeconds = 0.002;
constexpr int kRepeats = 25;
constexpr int64_t kSliceBytes = int64_t{1} << 20;
constexpr int kAccumulators = 12;

// One instruction (or a short sequence) per accumulator; %12 and %13 are its sources.
#define STOKER_PEAK_TWELVE(line)                                                            \
  line("0") line("1") line("2") line("3") line("4") line("5") line("6") line("7") line("8") \
      line("9") line("10") line("11")
#define STOKER_PEAK_LOOP(name, features, vector, constraint, line, ...)                        \
  __attribute__((target(features), noinline)) void name(int64_t rounds) {                      \
    vector a0{}, a1{}, a2{}, a3{}, a4{}, a5{}, a6{}, a7{}, a8{}, a9{}, a10{}, a11{}, x{}, y{}; \
    for (int64_t i = 0; i < rounds; ++i) {                                                     \
      asm volatile(STOKER_PEAK_TWELVE(line)                                                    \
                   : "+" constraint(a0), "+" constraint(a1), "+" constraint(a2),               \
                     "+" constraint(a3), "+" constraint(a4), "+" constraint(a5),               \
                     "+" constraint(a6), "+" constraint(a7), "+" constraint(a8),               \
                     "+" constraint(a9), "+" constraint(a10), "+" constraint(a11)              \
                   : constraint(x), constraint(y)                                              \
                   : __VA_ARGS__);                                                             \
    }                                                                                          \
  }

using Vector16 = float __attribute__((vector_size(16)));
using Vector32 = float __attribute__((vector_size(32)));
using Vector64 = float __attribute__((vector_size(64)));

// Sources hold zeros: no denormals, no overflow.
#define STOKER_PEAK_FMA(n) "vfmadd231ps %12, %13, %" n "\n\t"
#define STOKER_PEAK_DPBF16(n) "vdpbf16ps %12, %13, %" n "\n\t"
#define STOKER_PEAK_DPBUSD(n) "vpdpbusd %12, %13, %" n "\n\t"
#define STOKER_PEAK_MADDUBS(n)                                                                    \
  "vpmaddubsw %12, %13, %%ymm15\n\tvpmaddwd %12, %%ymm15, %%ymm15\n\tvpaddd %%ymm15, %" n ", %" n \
  "\n\t"
#define STOKER_PEAK_MULADD(n) "mulps %12, %" n "\n\taddps %13, %" n "\n\t"

STOKER_PEAK_LOOP(fma_v4, "avx512f", Vector64, "v", STOKER_PEAK_FMA, "cc")
STOKER_PEAK_LOOP(fma_v3, "avx2,fma", Vector32, "x", STOKER_PEAK_FMA, "cc")
STOKER_PEAK_LOOP(muladd_baseline, "sse2", Vector16, "x", STOKER_PEAK_MULADD, "cc")
STOKER_PEAK_LOOP(dot_bf16_v4x, "avx512f,avx512bf16", Vector64, "v", STOKER_PEAK_DPBF16, "cc")
STOKER_PEAK_LOOP(dot_int8_v4x, "avx512f,avx512vnni", Vector64, "v", STOKER_PEAK_DPBUSD, "cc")
STOKER_PEAK_LOOP(dot_int8_v3, "avx2", Vector32, "x", STOKER_PEAK_MADDUBS, "xmm15")

// Reads `bytes` (a multiple of 512) from `data`.
__attribute__((target("avx512f"), noinline)) void read_v4(const std::byte* data, int64_t bytes) {
  for (const std::byte* end = data + bytes; data != end; data += 512) {
    asm volatile(
        "vmovaps (%0), %%zmm0\n\tvmovaps 64(%0), %%zmm1\n\tvmovaps 128(%0), %%zmm2\n\t"
        "vmovaps 192(%0), %%zmm3\n\tvmovaps 256(%0), %%zmm4\n\tvmovaps 320(%0), %%zmm5\n\t"
        "vmovaps 384(%0), %%zmm6\n\tvmovaps 448(%0), %%zmm7"
        :
        : "r"(data)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory");
  }
  asm volatile("vzeroupper" ::: "memory");  // the compiler does not see the wide registers
}

__attribute__((target("avx2"), noinline)) void read_v3(const std::byte* data, int64_t bytes) {
  for (const std::byte* end = data + bytes; data != end; data += 256) {
    asm volatile(
        "vmovaps (%0), %%ymm0\n\tvmovaps 32(%0), %%ymm1\n\tvmovaps 64(%0), %%ymm2\n\t"
        "vmovaps 96(%0), %%ymm3\n\tvmovaps 128(%0), %%ymm4\n\tvmovaps 160(%0), %%ymm5\n\t"
        "vmovaps 192(%0), %%ymm6\n\tvmovaps 224(%0), %%ymm7"
        :
        : "r"(data)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory");
  }
  asm volatile("vzeroupper" ::: "memory");  // the compiler does not see the wide registers
}

void read_baseline(const std::byte* data, int64_t bytes) {
  for (const std::byte* end = data + bytes; data != end; data += 64) {
    asm volatile(
        "movaps (%0), %%xmm0\n\tmovaps 16(%0), %%xmm1\n\t"
        "movaps 32(%0), %%xmm2\n\tmovaps 48(%0), %%xmm3"
        :
        : "r"(data)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  }
}

using Work = std::function<void(int worker, int64_t rounds)>;

double run_seconds(WorkerPool& pool, const Work& work, int64_t rounds) {
  struct Context {
    const Work* work;
    int64_t rounds;
  } context{&work, rounds};
  const auto start = std::chrono::steady_clock::now();
  pool.run(
      [](void* raw, int worker) {
        const auto* job = static_cast<const Context*>(raw);
        (*job->work)(worker, job->rounds);
      },
      &context);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double shortest_seconds(WorkerPool& pool, const Work& work, int64_t rounds, int repeats) {
  double shortest = INFINITY;
  for (int i = 0; i < repeats; ++i) shortest = std::min(shortest, run_seconds(pool, work, rounds));
  return shortest;
}

// Rounds per second of one worker, the best of some repeats: noise only ever slows down.
double best_rate(WorkerPool& pool, const Work& work) {
  int64_t rounds = 1;
  while (shortest_seconds(pool, work, rounds, 2) < kRoundSeconds && rounds < int64_t{1} << 40) {
    rounds *= 2;
  }
  return static_cast<double>(rounds) / shortest_seconds(pool, work, rounds, kRepeats);
}

using Loop = void (*)(int64_t rounds);

// Billions of operations per second of all workers.
double compute_peak(WorkerPool& pool, Loop loop, int operations_per_accumulator) {
  if (!loop) return 0;
  const double rate = best_rate(pool, [loop](int, int64_t rounds) { loop(rounds); });
  return rate * kAccumulators * operations_per_accumulator * pool.workers() / 1e9;
}

using Reader = void (*)(const std::byte* data, int64_t bytes);

// GB/s of all workers, each walking round and round through `bytes` of its own; 0 without the
// memory.
double read_peak(WorkerPool& pool, Reader reader, int64_t bytes) {
  const int64_t slice = std::min(bytes, kSliceBytes) / 4096 * 4096;
  if (slice <= 0) return 0;
  bytes = bytes / slice * slice;
  struct Walk {
    std::shared_ptr<void> buffer;
    int64_t offset = 0;
  };
  std::vector<Walk> walks(static_cast<size_t>(pool.workers()));
  for (Walk& walk : walks) {
    walk.buffer = allocate_aligned(bytes);
    if (!walk.buffer) return 0;
  }
  // First touch by the worker that reads. Untouched pages would all be the kernel's one zero page.
  const Work touch = [&](int worker, int64_t) {
    std::memset(walks[static_cast<size_t>(worker)].buffer.get(), 1, static_cast<size_t>(bytes));
  };
  run_seconds(pool, touch, 1);
  const double rate = best_rate(pool, [&](int worker, int64_t rounds) {
    Walk& walk = walks[static_cast<size_t>(worker)];
    const auto* data = static_cast<const std::byte*>(walk.buffer.get());
    for (int64_t i = 0; i < rounds; ++i) {
      reader(data + walk.offset, slice);
      walk.offset = walk.offset + slice == bytes ? 0 : walk.offset + slice;
    }
  });
  return rate * static_cast<double>(slice) * pool.workers() / 1e9;
}

int64_t cache_bytes(const char* name) {
  const auto facts = machine_fingerprint();
  const std::string& text = facts.at(name);
  int64_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

double fork_join_us(WorkerPool& pool) {
  if (pool.workers() < 2) return 0;
  constexpr int kJobs = 2000;
  double best = INFINITY;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kJobs; ++i) pool.run([](void*, int) {}, nullptr);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count() * 1e6 / kJobs);
  }
  return best;
}

}  // namespace

MachinePeaks measure_peaks(int threads) {
  WorkerPoolOptions options;
  options.workers = threads;
  WorkerPool pool(options);
  const IsaLevel isa = detect_isa();
  const bool v3 = isa >= IsaLevel::kV3, v4 = isa >= IsaLevel::kV4, v4x = isa >= IsaLevel::kV4x;
  MachinePeaks peaks;
  peaks.threads = threads;
  const int f32_lanes = v4 ? 16 : v3 ? 8 : 4;
  peaks.f32_gflops = compute_peak(pool, v4 ? fma_v4 : v3 ? fma_v3 : muladd_baseline, 2 * f32_lanes);
  peaks.bf16_gflops = compute_peak(pool, v4x ? dot_bf16_v4x : nullptr, 2 * 32);
  peaks.int8_gops = v4x ? compute_peak(pool, dot_int8_v4x, 2 * 64)
                        : compute_peak(pool, v3 ? dot_int8_v3 : nullptr, 2 * 32);
  const Reader reader = v4 ? read_v4 : v3 ? read_v3 : read_baseline;
  const int64_t l2 = cache_bytes("l2"), l3 = cache_bytes("l3");
  peaks.l2_gb_s = read_peak(pool, reader, l2 / 2);  // half: the rest is other data's
  // The last level is shared; each part must be too large for L2 and all of them fit together.
  if (l3 > 0) peaks.l3_gb_s = read_peak(pool, reader, std::max(l3 / (2 * threads), 2 * l2));
  const int64_t memory = std::clamp(4 * l3, int64_t{256} << 20, int64_t{512} << 20);
  peaks.dram_gb_s = read_peak(pool, reader, memory / threads);
  peaks.fork_join_us = fork_join_us(pool);
  return peaks;
}

}  // namespace stoker
