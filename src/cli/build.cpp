// stoker build: from a model file, or from the graph that an engine keeps, to an engine file.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>

#include "api/explain.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace stoker::cli {
namespace {

struct BuildArguments {
  std::shared_ptr<ModelOptions> model;
  std::string output;
};

Status check(const BuildArguments& arguments) {
  const ModelOptions& model = *arguments.model;
  STOKER_TRY(check_model_options(model));
  const bool looking =
      !model.dump_after.empty() || !model.stop_after.empty() || !model.save_decisions.empty();
  if (arguments.output.empty() && !looking) {
    return invalid_argument("-o is missing: where shall the engine go? (-o {}.engine)",
                            std::filesystem::path(model.path).stem().string());
  }
  // Found out now, not after minutes of tuning.
  const auto folder = std::filesystem::path(arguments.output).parent_path();
  std::error_code fault;
  if (!folder.empty() && !std::filesystem::is_directory(folder, fault)) {
    return error(StatusCode::kNotFound, "cannot write '{}': the folder '{}' does not exist",
                 arguments.output, folder.string());
  }
  return Status::ok();
}

Result<int> run_build(const BuildArguments& arguments, Console& console) {
  STOKER_TRY(check(arguments));
  const ModelOptions& model = *arguments.model;
  std::vector<std::pair<std::string, std::string>> dumps;
  STOKER_ASSIGN(const OpenedEngine opened,
                open_engine(model, console, console.json ? &dumps : nullptr));
  Json report = {{"model", model.path}};
  STOKER_ASSIGN(const std::string digest, opened.engine.digest());
  if (!arguments.output.empty()) {
    STOKER_TRY(opened.engine.save(arguments.output));
    std::error_code fault;
    const auto bytes = std::filesystem::file_size(arguments.output, fault);
    console.print("{}: {:.1f} MB, digest {}, built in {:.1f} s\n", arguments.output,
                  static_cast<double>(bytes) / 1e6, digest, *opened.build_seconds);
    report["engine"] = arguments.output;
    report["bytes"] = bytes;
  }
  report["digest"] = digest;
  report["build_s"] = *opened.build_seconds;
  const std::string against = checked_against(opened.engine);
  report["checked_against"] = against;
  if (against.rfind("nothing", 0) == 0) {
    log_warn(
        "the engine was not compared with an unfused build, and steps may be untimed: {}. Sizes "
        "that nobody gave are guessed (1 for a first dim, 128 for others): name some that the "
        "network takes with --shapes",
        against);
  }
  if (!model.save_decisions.empty()) {
    const std::string text = decisions(opened.engine);
    STOKER_TRY(write_file_atomic(model.save_decisions, std::as_bytes(std::span(text))));
    console.print("{}: decisions of this build\n", model.save_decisions);
    report["decisions"] = model.save_decisions;
  }
  if (!dumps.empty()) report["dumps"] = Json::array();
  for (const auto& [pass, text] : dumps) {
    report["dumps"].push_back({{"pass", pass}, {"graph", text}});
  }
  if (console.json) console.print_json(report);
  if (!arguments.output.empty()) {
    console.next(
        fmt::format("stoker run {0}, stoker bench {0}, stoker explain {0}", arguments.output));
  }
  return kDone;
}

}  // namespace

Action add_build(CLI::App& app) {
  auto arguments = std::make_shared<BuildArguments>();
  arguments->model = add_model_options(app);
  arguments->model->rebuild = true;
  app.add_option("-o,--output", arguments->output, "the engine file to write");
  app.add_flag("--refittable", arguments->model->refittable,
               "let stoker refit give the engine other weights; it grows by some of them");
  app.add_flag("--strip-weights", arguments->model->strip_weights,
               "refittable, and without the weights: it runs after a refit");
  app.add_option("--save-decisions", arguments->model->save_decisions,
                 "write the choices of this build to a file");
  return [arguments](Console& console) { return run_build(*arguments, console); };
}

}  // namespace stoker::cli
