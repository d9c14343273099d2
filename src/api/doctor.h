// What this machine is and what it can do: facts, and peaks measured now. A roofline for reports,
// and the first page of every bug report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

const char* library_version();  // "0.1.0"

// Measured with that many threads at once; 0 where the machine lacks the means.
struct MachinePeaks {
  int threads = 1;
  double f32_gflops = 0, bf16_gflops = 0, int8_gops = 0;  // a multiply-add counts 2
  double l2_gb_s = 0, l3_gb_s = 0, dram_gb_s = 0;         // reading
  double fork_join_us = 0;                                // an empty job on all workers
};
MachinePeaks measure_peaks(int threads);

struct DoctorReport {
  std::map<std::string, std::string> facts;  // machine_fingerprint
  std::vector<std::pair<std::string, bool>> isa_levels;
  double memory_gib = 0, available_gib = 0;
  std::string huge_pages;    // the kernel's setting of transparent huge pages
  std::string cuda;          // what opening the driver library gave
  std::string timing_cache;  // file; empty: none
  std::vector<MachinePeaks> peaks;
};

// `threads`: 0 takes all CPUs of the process. `measure` off leaves the peaks out.
Result<DoctorReport> run_doctor(int threads, bool measure);
std::string doctor_text(const DoctorReport& report);
std::string doctor_json(const DoctorReport& report);

}  // namespace stoker
