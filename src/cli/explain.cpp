// stoker explain: what the build chose for each step, and why nothing faster.
// SPDX-License-Identifier: Apache-2.0
#include "api/explain.h"

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace stoker::cli {

Action add_explain(CLI::App& app) {
  const auto options = add_model_options(app);
  return [options](Console& console) -> Result<int> {
    STOKER_ASSIGN(const OpenedEngine opened, open_engine(*options, console));
    if (console.json) {
      console.print_json(Json::parse(explain_json(opened.engine)));
    } else {
      console.print("{}", explain_text(opened.engine));
      console.next(
          fmt::format("stoker bench {} --profile shows where the time goes", options->path));
    }
    return kDone;
  };
}

}  // namespace stoker::cli
