// stoker zoo: well-known networks with random weights, for benchmarks without downloads.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/knobs.h"
#include "base/status.h"
#include "cli/command.h"

namespace stoker::cli {
namespace {

struct ZooArguments {
  std::string name, output;
  bool list = false;
};

int list_models(Console& console) {
  Json report = Json::array();
  for (const ZooEntry& entry : zoo_entries()) {
    console.print("{:22}{}\n", entry.name, entry.summary);
    report.push_back({{"name", entry.name}, {"summary", entry.summary}});
  }
  if (console.json) console.print_json(report);
  console.next("stoker zoo NAME -o NAME.onnx");
  return kDone;
}

Result<int> run_zoo(const ZooArguments& arguments, Console& console) {
  if (arguments.list) return list_models(console);
  if (arguments.name.empty()) {
    return invalid_argument("which model? `stoker zoo --list` names them");
  }
  if (!find_zoo_entry(arguments.name)) {
    std::vector<std::string> names;
    for (const ZooEntry& entry : zoo_entries()) names.emplace_back(entry.name);
    const std::string nearest = nearest_name(arguments.name, names);
    return invalid_argument("no model '{}'{}; there are: {}", arguments.name,
                            nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                            fmt::join(names, ", "));
  }
  if (arguments.output.empty()) {
    return invalid_argument("-o is missing: where shall the model go? (-o {}.onnx)",
                            arguments.name);
  }
  STOKER_TRY(write_zoo_model(arguments.name, arguments.output));
  console.print("{}: {} with seeded random weights\n", arguments.output, arguments.name);
  if (console.json) {
    console.print_json({{"model", arguments.name}, {"file", arguments.output}});
  }
  console.next(fmt::format("stoker bench {}", arguments.output));
  return kDone;
}

}  // namespace

Action add_zoo(CLI::App& app) {
  auto arguments = std::make_shared<ZooArguments>();
  app.add_option("NAME", arguments->name, "the model to write");
  app.add_option("-o,--output", arguments->output, "the .onnx file to write");
  app.add_flag("--list", arguments->list, "name the models there are");
  return [arguments](Console& console) { return run_zoo(*arguments, console); };
}

}  // namespace stoker::cli
