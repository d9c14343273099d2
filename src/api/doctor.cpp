// SPDX-License-Identifier: Apache-2.0
#include "api/doctor.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/knobs.h"
#include "base/worker_pool.h"
#include "device/cpu_info.h"
#include "device/isa.h"
#include "tune/timing_cache.h"

namespace stoker {
namespace {

// GiB of a line such as "MemTotal:  131072 kB"; 0 when it is not there.
double memory_entry(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(name + ":", 0) != 0) continue;
    const size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return 0;
    int64_t kib = 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), kib);
    return static_cast<double>(kib) / (1 << 20);
  }
  return 0;
}

// The chosen word of "always [madvise] never".
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  if (!std::getline(file, line)) return "not known";
  const size_t open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return line;
  return line.substr(open + 1, close - open - 1);
}

// Opened only to tell whether a driver is there; this version compiles for CPUs.
std::string cuda_presence() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "no driver (libcuda.so.1 is not there)";
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto version = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  const auto devices = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  if (!init || !version || !devices)
    return "libcuda.so.1 is there but lacks the driver's functions";
  int number = 0, count = 0;
  if (version(&number) != 0) number = 0;
  const std::string name = fmt::format("driver for CUDA {}.{}", number / 1000, number % 1000 / 10);
  if (const int code = init(0); code != 0) return fmt::format("{}, cuInit failed: {}", name, code);
  if (devices(&count) != 0) count = 0;
  // Not closed: the driver keeps threads of its own.
  return fmt::format("{}, {} devices (not used by this version)", name, count);
}

std::string size_text(const std::string& bytes) {
  int64_t value = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  if (value <= 0) return "not known";
  return value >= 1 << 20 ? fmt::format("{:.4g} MiB", static_cast<double>(value) / (1 << 20))
                          : fmt::format("{:.4g} KiB", static_cast<double>(value) / (1 << 10));
}

std::string figure(double value, const char* unit) {
  return value > 0 ? fmt::format("{:.1f} {}", value, unit) : std::string("-");
}

std::string peaks_table(const std::vector<MachinePeaks>& peaks) {
  std::string text = fmt::format("\n{:24}", "measured peaks");
  const auto row = [&](const char* name, const char* unit, double MachinePeaks::*field) {
    text += fmt::format("\n  {:22}", name);
    for (const MachinePeaks& peak : peaks) text += fmt::format("{:>18}", figure(peak.*field, unit));
  };
  for (const MachinePeaks& peak : peaks) {
    text += fmt::format("{:>18}",
                        peak.threads == 1 ? "1 thread" : fmt::format("{} threads", peak.threads));
  }
  row("f32 multiply-add", "GFLOP/s", &MachinePeaks::f32_gflops);
  row("bf16 dot product", "GFLOP/s", &MachinePeaks::bf16_gflops);
  row("int8 dot product", "GOP/s", &MachinePeaks::int8_gops);
  row("L2 read", "GB/s", &MachinePeaks::l2_gb_s);
  row("L3 read", "GB/s", &MachinePeaks::l3_gb_s);
  row("DRAM read", "GB/s", &MachinePeaks::dram_gb_s);
  text += fmt::format("\n  {:22}", "fork and join");
  for (const MachinePeaks& peak : peaks) {
    text +=
        fmt::format("{:>18}", peak.threads > 1 ? fmt::format("{:.2f} us", peak.fork_join_us) : "-");
  }
  return text + "\n";
}

}  // namespace

const char* library_version() { return kLibraryVersion; }

Result<DoctorReport> run_doctor(int threads, bool measure) {
  STOKER_ASSIGN(const KnobSet knobs, KnobSet::from_environment());
  DoctorReport report;
  report.facts = machine_fingerprint();
  const IsaLevel detected = detect_isa();
  for (int i = 0; i < kIsaLevelCount; ++i) {
    const auto level = static_cast<IsaLevel>(i);
    report.isa_levels.emplace_back(isa_name(level), level <= detected);
  }
  report.memory_gib = memory_entry("MemTotal");
  report.available_gib = memory_entry("MemAvailable");
  report.huge_pages = huge_page_setting();
  report.cuda = cuda_presence();
  report.timing_cache = knobs.get_string(Knob::kTimingCache);
  if (report.timing_cache.empty()) report.timing_cache = default_timing_cache();
  if (!measure) return report;
  const int all = threads > 0 ? threads : available_cpus();
  report.peaks.push_back(measure_peaks(1));
  if (all > 1) report.peaks.push_back(measure_peaks(all));
  return report;
}

std::string doctor_text(const DoctorReport& report) {
  const auto fact = [&](const char* name) {
    const auto found = report.facts.find(name);
    return found == report.facts.end() ? std::string("not known") : found->second;
  };
  std::string levels;
  for (const auto& [name, present] : report.isa_levels) {
    levels += fmt::format("{}{} {}", levels.empty() ? "" : ", ", name, present ? "yes" : "no");
  }
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:14}{}\n", name, value);
  };
  line("Stoker", fact("library") + ", compiler " + fact("compiler"));
  line("CPU", fact("cpu") + ", " + fact("cpus") + " CPUs for this process");
  line("ISA levels", levels);
  line("caches", fmt::format("L1d {}, L2 {}, L3 {}", size_text(fact("l1d")), size_text(fact("l2")),
                             size_text(fact("l3"))));
  line("memory",
       fmt::format("{:.1f} GiB, {:.1f} GiB available", report.memory_gib, report.available_gib));
  line("huge pages",
       report.huge_pages +
           (report.huge_pages == "never" ? " (weights stay in small pages: slower reading)" : ""));
  line("CUDA", report.cuda);
  line("timing cache", report.timing_cache.empty() ? "none (no home folder)" : report.timing_cache);
  return report.peaks.empty() ? text : text + peaks_table(report.peaks);
}

std::string doctor_json(const DoctorReport& report) {
  using Json = nlohmann::ordered_json;
  Json levels = Json::object();
  for (const auto& [name, present] : report.isa_levels) levels[name] = present;
  Json peaks = Json::array();
  for (const MachinePeaks& peak : report.peaks) {
    peaks.push_back({{"threads", peak.threads},
                     {"f32_gflop_per_s", peak.f32_gflops},
                     {"bf16_gflop_per_s", peak.bf16_gflops},
                     {"int8_gop_per_s", peak.int8_gops},
                     {"l2_gb_per_s", peak.l2_gb_s},
                     {"l3_gb_per_s", peak.l3_gb_s},
                     {"dram_gb_per_s", peak.dram_gb_s},
                     {"fork_join_us", peak.fork_join_us}});
  }
  const Json json = {{"fingerprint", report.facts},         {"isa_levels", levels},
                     {"memory_gib", report.memory_gib},     {"available_gib", report.available_gib},
                     {"huge_pages", report.huge_pages},     {"cuda", report.cuda},
                     {"timing_cache", report.timing_cache}, {"peaks", peaks}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stoker
