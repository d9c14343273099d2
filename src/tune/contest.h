// The tactic contest: every step's candidates are timed on this machine, interleaved and with cold
// weights, and the fastest is kept when it wins by more than the noise; the winner must then agree
// with the reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tune/decisions.h"
#include "tune/harness.h"

namespace stoker {

struct ContestOptions {
  bool timing = true;  // off: the first candidate by the lists' order
  int rounds = 7;
  std::string cache_path;  // empty: no cache
  bool self_check = true;
  int check_elements = 64;
  bool reference_only = false;
  bool low_memory = false;  // store a weight once also where that costs time
  const Decisions* decisions = nullptr;  // fixed choices; steps that are not listed are contested
  std::function<void(size_t done, size_t total)> progress;  // may be empty
};

// Sets tactic, version and config of every step whose layouts are assigned. Figures, refusals and
// demotions go into the volatile section.
Status choose_tactics(EngineContents& contents, const TacticRegistry& registry, WorkerPool& pool,
                      const ContestOptions& options);

}  // namespace stoker
