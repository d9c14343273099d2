// What every pass gets and gives back. A pass is one function in a file of its own:
//   Result<int> name(Graph&, const PassContext&)   -> number of changes
// and one line in the list of pipeline.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/oracle.h"

namespace stoker {

// A fusion that the oracle refused, for `stoker explain`.
struct Refusal {
  std::string pass;
  std::string node;  // origins of the candidate
  std::string reason;
};

struct PassContext {
  const TacticOracle* oracle = nullptr;  // null: every fusion is taken
  std::vector<Refusal>* refusals = nullptr;
  int64_t max_folded_bytes = int64_t{256} << 20;  // of one node's constants
};

using PassFunction = Result<int> (*)(Graph&, const PassContext&);

}  // namespace stoker
