// The support matrix: every ONNX operator that the importer knows, and what runs it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stoker {

struct OperatorSupport {
  std::string domain, name;  // "ai.onnx", "Conv"
  std::string op;            // of the IR; empty: written out in other ops
  std::string runs_by;       // kernel family, "view", "region", "reference", "control flow", ...
};

// Sorted by domain and name.
std::vector<OperatorSupport> operator_support();

}  // namespace stoker
