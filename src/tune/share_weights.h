// One copy of a weight that several steps read: after the contest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tune/contest.h"

namespace stoker {

// Steps that read a weight plain while another step packs it (the table of an embedding that is
// also the last product's matrix) move to a tactic that reads the packed form, where there is one,
// all or none of them. Without options.low_memory only where that costs at most kSharingLoss of the
// time of all steps at the optimum shape. Steps that options.decisions names stay as decided.
Status share_weights(EngineContents& contents, const TacticRegistry& registry, WorkerPool& pool,
                     const ContestOptions& options);

inline constexpr double kSharingLoss = 0.02;

}  // namespace stoker
