// stoker doctor: this machine's facts and measured peaks.
// SPDX-License-Identifier: Apache-2.0
#include "api/doctor.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace stoker::cli {
namespace {

struct DoctorArguments {
  int threads = 0;
  bool no_peaks = false;
};

}  // namespace

Action add_doctor(CLI::App& app) {
  auto arguments = std::make_shared<DoctorArguments>();
  app.add_option("--threads", arguments->threads, "threads of the second column; 0 takes all CPUs")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--no-peaks", arguments->no_peaks, "facts only, nothing is measured");
  return [arguments](Console& console) -> Result<int> {
    auto report = run_doctor(arguments->threads, !arguments->no_peaks);
    if (!report) return report.status();
    if (console.json) {
      console.print_json(Json::parse(doctor_json(*report)));
    } else {
      console.print("{}", doctor_text(*report));
      console.next("stoker zoo resnet50 -o resnet50.onnx; stoker bench resnet50.onnx --profile");
    }
    return kDone;
  };
}

}  // namespace stoker::cli
