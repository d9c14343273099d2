// stoker diff: where two engine files differ, and whether that can change speed or numbers.
// SPDX-License-Identifier: Apache-2.0
#include "api/diff.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace stoker::cli {
namespace {

constexpr int kDifferent = 1;  // as diff has it

struct DiffArguments {
  std::string a, b;
  ModelOptions options;
};

Result<Engine> load(const std::string& path, const ModelOptions& options, Console& console) {
  ModelOptions own = options;
  own.path = path;
  if (!own.is_engine()) {
    return invalid_argument(
        "'{}' is no .engine file: build it first, or run `stoker check --compare` on models", path);
  }
  STOKER_ASSIGN(OpenedEngine opened, open_engine(own, console));
  return std::move(opened.engine);
}

int64_t size_of(const std::string& path) {
  std::error_code fault;
  const auto bytes = std::filesystem::file_size(path, fault);
  return fault ? 0 : static_cast<int64_t>(bytes);
}

std::string next_step(const EngineDiff& diff, const DiffArguments& arguments) {
  const std::string &a = arguments.a, &b = arguments.b;
  if (diff.equal()) return fmt::format("stoker bench {}: either file will do", a);
  if (!diff.same_network) return fmt::format("stoker inspect {}, stoker inspect {}", a, b);
  if (diff.count(DiffEffect::kNumbers) + diff.count(DiffEffect::kBoth) > 0)
    return fmt::format("stoker check --compare {} {} measures how far the numbers part", a, b);
  return fmt::format("stoker bench {}, stoker bench {}: the numbers are the same", a, b);
}

Result<int> run_diff(const DiffArguments& arguments, Console& console) {
  STOKER_ASSIGN(const Engine a, load(arguments.a, arguments.options, console));
  STOKER_ASSIGN(const Engine b, load(arguments.b, arguments.options, console));
  const DiffSide left{&a, arguments.a, size_of(arguments.a)};
  const DiffSide right{&b, arguments.b, size_of(arguments.b)};
  STOKER_ASSIGN(const EngineDiff diff, diff_engines(left, right));
  if (console.json) console.print_json(Json::parse(diff_json(diff, left, right)));
  console.print("{}", diff_text(diff, left, right));
  console.next(next_step(diff, arguments));
  return diff.equal() ? kDone : kDifferent;
}

}  // namespace

Action add_diff(CLI::App& app) {
  auto arguments = std::make_shared<DiffArguments>();
  app.add_option("A", arguments->a, "an .engine file")->required();
  app.add_option("B", arguments->b, "another")->required();
  add_op_library_option(app, arguments->options);
  app.footer("Exit code: 0 equal, 1 different.");
  return [arguments](Console& console) { return run_diff(*arguments, console); };
}

}  // namespace stoker::cli
