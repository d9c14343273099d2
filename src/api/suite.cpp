// SPDX-License-Identifier: Apache-2.0
#include "api/suite.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "api/loaded_model.h"
#include "base/status.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Does the node, or one in its sub-graphs, draw random numbers?
bool draws(const Node& node) {
  if (!node.op->deterministic) return true;
  for (const auto& body : node.subgraphs) {
    for (const auto& inner : body->nodes()) {
      if (draws(*inner)) return true;
    }
  }
  return false;
}

// Names of the outputs that depend on random numbers.
std::set<std::string> random_outputs(const Graph& graph) {
  std::unordered_set<const Value*> random;
  for (const auto& node : graph.nodes()) {
    bool drawn = draws(*node);
    for (const Value* input : node->inputs) drawn |= random.count(input) != 0;
    if (!drawn) continue;
    random.insert(node->outputs.begin(), node->outputs.end());
  }
  std::set<std::string> names;
  for (const Value* output : graph.outputs) {
    if (random.count(output)) names.insert(output->origin.empty() ? output->name : output->origin);
  }
  return names;
}

// A file that goes away with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    static std::atomic<int> counter{0};
    path_ = (fs::temp_directory_path() /
             fmt::format("stoker-suite-{}-{}.engine", ::getpid(), counter++))
                .string();
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// "": passed. Otherwise what went wrong.
Result<std::string> check_model(const std::string& model_path, const std::string& folder,
                                const BuildOptions& options, const Tolerance& tolerance) {
  STOKER_ASSIGN(const Model model, Model::load(model_path, options.knobs));
  const TemporaryFile file;
  {
    STOKER_ASSIGN(const Engine built, build(model, options));
    STOKER_TRY(built.save(file.path()));
  }
  STOKER_ASSIGN(const Engine engine, Engine::load(file.path(), options.knobs));
  STOKER_ASSIGN(const auto checks, check_folder(engine, folder, tolerance,
                                                random_outputs(*model.impl().imported.graph)));
  for (const DataSetCheck& check : checks) {
    for (const OutputComparison& output : check.outputs) {
      if (output.passed) continue;
      return fmt::format("{}: output '{}': {}", fs::path(check.folder).filename().string(),
                         output.output, output.reason);
    }
  }
  return std::string();
}

// model.onnx, or the only .onnx file; empty when there is none to choose.
std::string model_of(const fs::path& folder) {
  std::error_code fault;
  if (fs::is_regular_file(folder / "model.onnx", fault)) return (folder / "model.onnx").string();
  std::string found;
  for (fs::directory_iterator it(folder, fault), end; !fault && it != end; it.increment(fault)) {
    if (it->path().extension() != ".onnx") continue;
    if (!found.empty()) return "";
    found = it->path().string();
  }
  return found;
}

bool has_data_sets(const fs::path& folder) {
  std::error_code fault;
  for (fs::directory_iterator it(folder, fault), end; !fault && it != end; it.increment(fault)) {
    if (it->path().filename().string().rfind("test_data_set_", 0) == 0) return true;
  }
  return false;
}

std::string guarded_check(const std::string& model, const std::string& folder,
                          const BuildOptions& options, const Tolerance& tolerance) {
  // Third parties (protobuf, the standard library out of memory) throw; that is this model's
  // failure.
  try {
    auto problem = check_model(model, folder, options, tolerance);
    return problem.is_ok() ? *problem
                           : fmt::format("{}: {}", status_code_name(problem.status().code()),
                                         problem.status().message());
  } catch (const std::exception& fault) {
    return fmt::format("internal: {}", fault.what());
  }
}

}  // namespace

Result<SuiteReport> check_suite(
    const std::string& folder, const BuildOptions& options, const Tolerance& tolerance,
    const std::function<void(const std::string& model, const std::string& problem)>& done) {
  std::error_code fault;
  if (!fs::is_directory(folder, fault)) {
    return Status(StatusCode::kNotFound, fmt::format("'{}' is not a folder", folder));
  }
  std::vector<fs::path> folders;
  for (fs::directory_iterator it(folder, fault), end; !fault && it != end; it.increment(fault)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end());
  SuiteReport report;
  for (const fs::path& path : folders) {
    const std::string model = model_of(path), name = path.filename().string();
    if (model.empty() || !has_data_sets(path)) {
      ++report.skipped;
      continue;
    }
    const std::string problem = guarded_check(model, path.string(), options, tolerance);
    ++(problem.empty() ? report.passed : report.failed);
    if (!problem.empty()) report.failures.push_back({name, problem});
    if (done) done(name, problem);
  }
  return report;
}

}  // namespace stoker
