// What will happen when an engine that was built elsewhere runs on this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "stoker/engine.h"

namespace stoker {

struct Compatibility {
  struct Change {
    std::string step, from, to;  // tactic/config
    std::string reason;
    bool reference = false;  // the slow evaluation takes its place
  };
  std::string built_by, library;   // versions
  std::string built_for, machine;  // "cpu v4x"
  size_t steps = 0;                // that kernels run and could be judged
  size_t interpreted = 0;          // that evaluate their ops
  std::vector<Change> changes;     // steps that other tactics or configs will run
  int64_t repacked_bytes = 0;      // weights that these want packed otherwise, at the first run
  size_t unknown = 0;              // of sizes that depend on data: judged at the first run
  std::string blocked;             // why the engine does not run at all; empty: it does

  bool as_built() const {
    return blocked.empty() && changes.empty() && unknown == 0 && built_for == machine;
  }
};

// Judged at the sizes that the engine was tuned for. Nothing is packed or run.
Compatibility compatibility(const Engine& engine);
std::string compatibility_text(const Compatibility& report);
std::string compatibility_json(const Compatibility& report);

}  // namespace stoker
