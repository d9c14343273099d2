// stoker inspect: what is in a model or engine file.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "api/compat.h"
#include "api/explain.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace stoker::cli {
namespace {

struct InspectArguments {
  ModelOptions model;
  bool graph = false, compat = false;
};

// Exit code 1: the engine does not run here.
int print_compatibility(const Engine& engine, const std::string& path, Console& console) {
  const Compatibility report = compatibility(engine);
  if (console.json) {
    console.print_json(Json::parse(compatibility_json(report)));
  } else {
    console.print("{}", compatibility_text(report));
    if (!report.changes.empty() || report.built_for != report.machine)
      console.next(fmt::format("stoker build {} -o here.engine to tune it for this machine", path));
    else if (report.blocked.empty())
      console.next(fmt::format("stoker run {}", path));
  }
  return report.blocked.empty() ? kDone : kFailedCheck;
}

Result<int> inspect_engine(const InspectArguments& arguments, Console& console) {
  if (arguments.graph) {
    return invalid_argument(
        "--graph is for .onnx files; `stoker inspect --verbose` shows an "
        "engine's own");
  }
  STOKER_ASSIGN(const OpenedEngine opened, open_engine(arguments.model, console));
  if (arguments.compat) return print_compatibility(opened.engine, arguments.model.path, console);
  STOKER_ASSIGN(const std::string digest, opened.engine.digest());
  if (console.json) {
    Json report =
        Json::parse(opened.engine.describe(true, arguments.model.verbose), nullptr, false);
    if (!report.is_object()) return internal_error("the description of the engine is not JSON");
    report["digest"] = digest;
    console.print_json(report);
    return kDone;
  }
  console.print("{}\ndigest {}\n", opened.engine.describe(false, arguments.model.verbose), digest);
  console.next(fmt::format("stoker explain {0}, stoker bench {0} --profile", arguments.model.path));
  return kDone;
}

Result<int> run_inspect(const InspectArguments& arguments, Console& console) {
  STOKER_TRY(check_model_options(arguments.model));
  if (arguments.model.is_engine()) return inspect_engine(arguments, console);
  if (arguments.compat) {
    return invalid_argument(
        "--compat is for engines; '{}' is a model, which is built where it runs",
        arguments.model.path);
  }
  STOKER_ASSIGN(const KnobList knobs, knob_list(arguments.model));
  auto model = Model::load(arguments.model.path, knobs);
  if (!model) return model.status();
  if (console.json) {
    Json report = Json::parse(model_json(*model));
    if (arguments.graph) report["graph"] = model->graph_text();
    console.print_json(report);
    return kDone;
  }
  console.print("{}", arguments.graph ? model->graph_text() : model_text(*model));
  console.next(fmt::format("stoker build {} -o X.engine", arguments.model.path));
  return kDone;
}

}  // namespace

Action add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  app.add_option("MODEL", arguments->model.path, "an .onnx or .engine file")->required();
  add_op_library_option(app, arguments->model);
  app.add_flag("--verbose", arguments->model.verbose, "of an engine: everything");
  app.add_flag("--compat", arguments->compat,
               "of an engine: what will happen when it runs on this machine");
  app.add_flag("--graph", arguments->graph, "of an .onnx file: the graph as text");
  return [arguments](Console& console) { return run_inspect(*arguments, console); };
}

}  // namespace stoker::cli
