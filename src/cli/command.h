// The list of commands. Each declares its options on the given CLI11 app and returns what to do
// once they are parsed; the returned number is the exit code, an error becomes one by its status
// code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace stoker::cli {

using Action = std::function<Result<int>(Console&)>;

struct Command {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& app);
};

Action add_build(CLI::App& app);
Action add_run(CLI::App& app);
Action add_bench(CLI::App& app);  // has a --json of its own: a file or -
Action add_check(CLI::App& app);
Action add_inspect(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_diff(CLI::App& app);
Action add_refit(CLI::App& app);
Action add_knobs(CLI::App& app);
Action add_ops(CLI::App& app);
Action add_doctor(CLI::App& app);
Action add_zoo(CLI::App& app);

}  // namespace stoker::cli
