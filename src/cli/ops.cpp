// stoker ops: every operator, and what runs it.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "api/operators.h"
#include "cli/command.h"

namespace stoker::cli {

Action add_ops(CLI::App&) {
  return [](Console& console) -> Result<int> {
    Json list = Json::array();
    for (const OperatorSupport& row : operator_support()) {
      console.print("{:28} {:36} {}\n", row.domain, row.name, row.runs_by);
      if (!console.json) continue;
      list.push_back({{"domain", row.domain},
                      {"operator", row.name},
                      {"op", row.op.empty() ? Json(nullptr) : Json(row.op)},
                      {"runs_by", row.runs_by}});
    }
    if (console.json) console.print_json({{"operators", list}});
    console.next("stoker explain MODEL shows what runs each node of a model");
    return kDone;
  };
}

}  // namespace stoker::cli
