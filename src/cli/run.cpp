// stoker run: a model or engine on given or random tensors.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <set>

#include "api/data.h"
#include "base/npy.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/tensors.h"

namespace stoker::cli {
namespace {

struct RunArguments {
  std::shared_ptr<ModelOptions> model;
  InputOptions inputs;
  std::string folder;
  int64_t top = 0;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// One NAME.npy per output; two names that become the same file are told apart by a number.
Result<std::map<std::string, std::string>> save_outputs(const std::string& folder,
                                                        const NamedTensors& outputs) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) {
    return invalid_argument("--save-outputs: cannot make the folder '{}': {}", folder,
                            fault.message());
  }
  std::set<std::string> taken;
  std::map<std::string, std::string> files;
  for (const auto& [name, tensor] : outputs) {
    const std::string base = safe_file_name(name);
    std::string file = base;
    for (int i = 2; !taken.insert(file).second; ++i) file = fmt::format("{}-{}", base, i);
    const std::string path = (std::filesystem::path(folder) / (file + ".npy")).string();
    STOKER_TRY(write_npy(path, tensor).at("output '" + name + "'"));
    files[name] = path;
  }
  return files;
}

Result<int> run_run(const RunArguments& arguments, Console& console) {
  STOKER_ASSIGN(const OpenedEngine opened, open_engine(*arguments.model, console));
  const std::vector<TensorInfo> infos = opened.engine.inputs();
  STOKER_ASSIGN(const std::vector<Shape> shapes, run_shapes(opened, *arguments.model));
  STOKER_ASSIGN(const ValueMap inputs, parse_inputs(arguments.inputs, infos, shapes,
                                                    shaped_inputs(*arguments.model), console));
  Session session(opened.engine);
  const auto start = std::chrono::steady_clock::now();
  auto outputs = session.run_values(inputs);
  if (!outputs) return outputs.status();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;

  NamedTensors tensors;
  for (const TensorInfo& info : opened.engine.outputs())
    collect_tensors(info.name, outputs->at(info.name), tensors);
  std::map<std::string, std::string> files;
  if (!arguments.folder.empty()) {
    STOKER_ASSIGN(files, save_outputs(arguments.folder, tensors));
  }
  Json report = {{"model", arguments.model->path}, {"first_run_ms", time.count()}};
  report["outputs"] = Json::array();
  for (const auto& [name, tensor] : tensors) {
    console.print("{}", tensor_summary(name, tensor, arguments.top));
    if (!console.json) continue;
    report["outputs"].push_back(tensor_summary_json(name, tensor, arguments.top));
    if (files.count(name)) report["outputs"].back()["file"] = files[name];
  }
  if (console.json) console.print_json(report);
  for (const auto& [name, file] : files) console.note("{}\n", file);
  console.next(fmt::format("stoker bench {0} for its speed", arguments.model->path));
  return kDone;
}

}  // namespace

Action add_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->model = add_model_options(app);
  add_input_options(app, arguments->inputs);
  app.add_option("--save-outputs", arguments->folder, "folder for one NAME.npy per output");
  app.add_option("--top", arguments->top, "print the K largest elements of each row")
      ->check(CLI::Range(1, 1000000));
  return [arguments](Console& console) { return run_run(*arguments, console); };
}

}  // namespace stoker::cli
