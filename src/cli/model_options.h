// The options that say which network to use and how to build it, shared by the commands that take a
// MODEL: an .onnx file is built in memory, an .engine file is loaded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace stoker::cli {

struct ModelOptions {
  std::string path;
  std::vector<std::string> shapes, routes, knobs, op_libraries;
  std::string device = "cpu", precision = "keep", memory;
  std::optional<int> threads;
  std::string decisions, save_decisions, dump_after, stop_after;
  std::string calibrate, accuracy, time_budget, opt_level;  // refused: not part of this version
  bool lean = false, refittable = false, strip_weights = false, verbose = false;
  bool rebuild = false;  // an engine is built anew from the graph that it keeps

  bool is_engine() const;
  // Is MODEL built rather than loaded?
  bool builds() const { return rebuild || !is_engine(); }
};

// MODEL may be left out when `required` is false; what it may be says `help`.
std::shared_ptr<ModelOptions> add_model_options(CLI::App& app, bool required = true);

void add_op_library_option(CLI::App& app, ModelOptions& options);

// Options that this version does not have, or that have no effect on this kind of file.
Status check_model_options(const ModelOptions& options);
// Settings of --route, --knob, --threads and their like, in this order. Checked.
Result<KnobList> knob_list(const ModelOptions& options);
Result<BuildOptions> build_options(const ModelOptions& options, Console& console);

struct OpenedEngine {
  Engine engine;
  std::optional<double> build_seconds;  // built here
  std::optional<double> load_ms;        // loaded from a file
};
// Checks the options, then builds or loads. `dumps` takes pass name and IR text for --dump-after.
Result<OpenedEngine> open_engine(const ModelOptions& options, Console& console,
                                 std::vector<std::pair<std::string, std::string>>* dumps = nullptr);

// Inputs of an engine file that --shapes names.
std::set<std::string> shaped_inputs(const ModelOptions& options);
// Shapes to run at when no data gives them: --shapes of an engine file, else the optimum.
Result<std::vector<Shape>> run_shapes(const OpenedEngine& opened, const ModelOptions& options);

}  // namespace stoker::cli
