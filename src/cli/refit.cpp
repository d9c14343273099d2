// stoker refit: other weights for an engine, from another file of the same network.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>

#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace stoker::cli {
namespace {

struct RefitArguments {
  ModelOptions engine;
  std::string model, output;
  bool list = false;
};

int list_weights(const Engine& engine, Console& console) {
  Json report = Json::array();
  for (const WeightInfo& weight : engine.weights()) {
    console.print("{:40} {}{}{}{}\n", weight.name, dtype_name(weight.dtype),
                  shape_text(weight.shape), weight.missing ? "  missing" : "",
                  weight.frozen.empty() ? "" : "  compiled in: " + weight.frozen);
    report.push_back({{"name", weight.name},
                      {"dtype", dtype_name(weight.dtype)},
                      {"shape", weight.shape},
                      {"missing", weight.missing},
                      {"frozen", weight.frozen}});
  }
  if (console.json) console.print_json(report);
  return kDone;
}

Result<int> run_refit(const RefitArguments& arguments, Console& console) {
  if (!arguments.engine.is_engine()) {
    return invalid_argument(
        "'{}' is no engine: refit changes an .engine file that was built with --refittable",
        arguments.engine.path);
  }
  STOKER_ASSIGN(const OpenedEngine opened, open_engine(arguments.engine, console));
  if (opened.engine.weights().empty()) {
    return unsupported(
        "'{}' was built without --refittable: it does not keep what a refit needs; build it anew",
        arguments.engine.path);
  }
  if (arguments.list) return list_weights(opened.engine, console);
  if (arguments.model.empty()) {
    return invalid_argument(
        "--from is missing: which .onnx file holds the new weights? (--list names those that may "
        "change)");
  }
  STOKER_ASSIGN(const KnobList knobs, knob_list(arguments.engine));
  auto model = Model::load(arguments.model, knobs);
  if (!model) return model.status().at("'" + arguments.model + "'");
  const auto start = std::chrono::steady_clock::now();
  auto made = refit(opened.engine, *model);
  if (!made) return made.status().at("'" + arguments.engine.path + "'");
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string& output = arguments.output.empty() ? arguments.engine.path : arguments.output;
  STOKER_TRY(made->save(output));
  STOKER_ASSIGN(const std::string digest, made->digest());
  console.print("{}: weights of {}, digest {}, refitted in {:.2f} s\n", output, arguments.model,
                digest, seconds);
  if (console.json) {
    console.print_json(
        {{"engine", output}, {"model", arguments.model}, {"digest", digest}, {"refit_s", seconds}});
  }
  console.next(fmt::format("stoker run {0}, stoker check {0}", output));
  return kDone;
}

}  // namespace

Action add_refit(CLI::App& app) {
  auto arguments = std::make_shared<RefitArguments>();
  app.add_option("ENGINE", arguments->engine.path, "an engine built with --refittable")->required();
  app.add_option("--from", arguments->model, "the .onnx file with the new weights");
  app.add_option("-o,--output", arguments->output, "where to write; the engine itself if left out");
  app.add_flag("--list", arguments->list, "name the weights, and those that were compiled in");
  add_op_library_option(app, arguments->engine);
  return [arguments](Console& console) { return run_refit(*arguments, console); };
}

}  // namespace stoker::cli
