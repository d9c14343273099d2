// SPDX-License-Identifier: Apache-2.0
#include "device/cpu_info.h"

#include <unistd.h>

#include <fstream>

#include "base/worker_pool.h"
#include "device/isa.h"

namespace stoker {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(": ");
      return colon == std::string::npos ? "unknown" : line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::string cache_size(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? std::to_string(bytes) : "unknown";
}

}  // namespace

std::map<std::string, std::string> machine_fingerprint() {
  return {
      {"cpu", cpu_model()},
      {"isa", std::string(isa_name(detect_isa()))},
      {"cpus", std::to_string(available_cpus())},
      {"l1d", cache_size(_SC_LEVEL1_DCACHE_SIZE)},
      {"l2", cache_size(_SC_LEVEL2_CACHE_SIZE)},
      {"l3", cache_size(_SC_LEVEL3_CACHE_SIZE)},
      {"compiler", __VERSION__},
      {"library", kLibraryVersion},
  };
}

std::string fingerprint_text() {
  std::string text;
  for (const auto& [name, value] : machine_fingerprint()) text += name + "=" + value + ";";
  return text;
}

}  // namespace stoker
