// stoker check: outputs against stored ones, for one model or a folder of models.
// SPDX-License-Identifier: Apache-2.0
#include "api/check.h"
#include "api/suite.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/status.h"
#include "cli/command.h"
#include "cli/compare.h"
#include "cli/model_options.h"

namespace stoker::cli {
namespace {

struct CheckArguments {
  std::shared_ptr<ModelOptions> model;
  std::string data, suite, metric = "allclose";
  std::optional<double> atol, rtol;
  CompareOptions compare;
};

Result<Tolerance> tolerance_of(const CheckArguments& arguments) {
  const auto metric = metric_from_name(arguments.metric);
  if (!metric) {
    return invalid_argument("--metric {}: expected one of {}", arguments.metric, metric_names());
  }
  for (const auto& value : {arguments.atol, arguments.rtol}) {
    if (value && !(*value >= 0 && std::isfinite(*value))) {
      return invalid_argument("--atol and --rtol must be numbers from 0 on, found {}", *value);
    }
  }
  return Tolerance{*metric, arguments.atol, arguments.rtol};
}

Json comparison_json(const OutputComparison& output) {
  return {{"name", output.output},   {"max_abs", output.max_abs}, {"max_rel", output.max_rel},
          {"figure", output.figure}, {"limit", output.limit},     {"passed", output.passed},
          {"reason", output.reason}};
}

Result<int> check_one(const CheckArguments& arguments, const Tolerance& tolerance,
                      Console& console) {
  STOKER_ASSIGN(const OpenedEngine opened, open_engine(*arguments.model, console));
  STOKER_ASSIGN(const auto checks, check_folder(opened.engine, arguments.data, tolerance));
  Json report = {{"model", arguments.model->path}, {"metric", arguments.metric}};
  bool passed = true;
  Json sets = Json::array();
  for (const DataSetCheck& check : checks) {
    passed = passed && check.passed();
    Json outputs = Json::array();
    console.print("{}\n", check.folder);
    for (const OutputComparison& output : check.outputs) {
      console.print("  {}: max abs {:.3g}, max rel {:.3g}: {}\n", output.output, output.max_abs,
                    output.max_rel, output.passed ? "passed" : "FAILED: " + output.reason);
      outputs.push_back(comparison_json(output));
    }
    sets.push_back({{"folder", check.folder}, {"outputs", outputs}});
  }
  report["passed"] = passed;
  report["data_sets"] = sets;
  if (console.json) console.print_json(report);
  console.note("{}\n", passed ? "check passed" : "check failed");
  if (!passed) {
    console.warn(
        fmt::format("stoker check: outputs of '{}' are out of tolerance\n", arguments.model->path));
  }
  console.next(passed ? fmt::format("stoker bench {}", arguments.model->path)
                      : fmt::format("stoker check {} --data {} --knob reference_only=true tells a "
                                    "fast kernel's error from the data's",
                                    arguments.model->path, arguments.data));
  return passed ? kDone : kFailedCheck;
}

Result<int> check_many(const CheckArguments& arguments, const Tolerance& tolerance,
                       Console& console) {
  STOKER_ASSIGN(BuildOptions build, build_options(*arguments.model, console));
  build.progress = nullptr;
  const auto done = [&](const std::string& model, const std::string& problem) {
    console.note("{} {}{}\n", problem.empty() ? "passed" : "FAILED", model,
                 problem.empty() ? "" : ": " + problem);
  };
  STOKER_ASSIGN(const SuiteReport suite, check_suite(arguments.suite, build, tolerance, done));
  if (suite.passed + suite.failed == 0) {
    return error(StatusCode::kNotFound,
                 "'{}' has no subfolder with a model.onnx and test_data_set_* folders",
                 arguments.suite);
  }
  Json failures = Json::array();
  for (const SuiteFailure& failure : suite.failures) {
    failures.push_back({{"model", failure.model}, {"reason", failure.reason}});
  }
  if (console.json) {
    console.print_json({{"passed", suite.passed},
                        {"failed", suite.failed},
                        {"skipped", suite.skipped},
                        {"failures", failures}});
  }
  console.print("{} passed, {} failed, {} skipped\n", suite.passed, suite.failed, suite.skipped);
  if (suite.failed > 0) {
    console.warn(fmt::format("stoker check: {} of {} models failed\n", suite.failed,
                             suite.failed + suite.passed));
    console.next(fmt::format("stoker check {0}/{1}/model.onnx --data {0}/{1}", arguments.suite,
                             suite.failures.front().model));
  }
  return suite.failed == 0 ? kDone : kFailedCheck;
}

Result<int> run_check(const CheckArguments& arguments, Console& console) {
  STOKER_ASSIGN(const Tolerance tolerance, tolerance_of(arguments));
  const bool one = !arguments.model->path.empty();
  if (!arguments.compare.files.empty()) {
    if (one || !arguments.suite.empty())
      return invalid_argument("--compare A B names what to run: leave MODEL and --suite out");
    return compare_files(arguments.compare, *arguments.model, arguments.data, tolerance, console);
  }
  if (arguments.compare.any_given())
    return invalid_argument("--input, --html, --knob-a and --knob-b are for --compare A B");
  if (!arguments.suite.empty()) {
    if (one || !arguments.data.empty()) {
      return invalid_argument("--suite takes a folder of models: leave MODEL and --data out");
    }
    return check_many(arguments, tolerance, console);
  }
  if (!one) return invalid_argument("which model? give MODEL --data DIR, or --suite DIR");
  if (arguments.data.empty()) {
    return invalid_argument(
        "--data is missing: the folder with test_data_set_*, or with input_0.pb "
        "and output_0.pb, or with NAME.npy");
  }
  return check_one(arguments, tolerance, console);
}

}  // namespace

Action add_check(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  arguments->model = add_model_options(app, false);
  app.add_option("--data", arguments->data, "folder with stored inputs and outputs");
  app.add_option("--suite", arguments->suite, "folder of models, each with its data");
  app.add_option("--metric", arguments->metric,
                 "allclose (--atol and --rtol), max_abs (--atol), cosine or range (--rtol), top1");
  app.add_option("--atol", arguments->atol, "absolute tolerance; left out: what the dtype allows");
  app.add_option("--rtol", arguments->rtol, "relative tolerance; left out: what the dtype allows");
  add_compare_options(app, arguments->compare);
  return [arguments](Console& console) { return run_check(*arguments, console); };
}

}  // namespace stoker::cli
