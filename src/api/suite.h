// Checking a folder of models, each with stored answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "api/check.h"

namespace stoker {

struct SuiteFailure {
  std::string model, reason;
};
struct SuiteReport {
  int passed = 0, failed = 0;
  int skipped = 0;  // subfolders without a model or without data
  std::vector<SuiteFailure> failures;
};
// Builds, saves, loads and checks the model of every subfolder (model.onnx, or its only .onnx
// file). A model that fails, for whatever reason, is a line of the report. Outputs that come from
// random numbers are judged by their moments when they are not equal.
Result<SuiteReport> check_suite(
    const std::string& folder, const BuildOptions& options, const Tolerance& tolerance,
    const std::function<void(const std::string& model, const std::string& problem)>& done);

}  // namespace stoker
