// stoker knobs: every tunable choice.
// SPDX-License-Identifier: Apache-2.0
#include "base/knobs.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace stoker::cli {

Action add_knobs(CLI::App&) {
  return [](Console& console) -> Result<int> {
    if (console.json) {
      console.print_json(Json::parse(knobs_json()));
    } else {
      console.print("{}", knobs_text());
      console.next("set one with --knob name=value, --route 'name=value ...' or STOKER_<NAME>");
    }
    return kDone;
  };
}

}  // namespace stoker::cli
