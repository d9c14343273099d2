// Stages and worker shares of a bound program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/bound.h"

namespace stoker {

// The stage at which each step's first phase runs; phase p runs p stages later. A step stands in
// the first stage after all that it must wait for, or later.
struct StagePlan {
  std::vector<int32_t> first_stage;  // per step
  int32_t stage_count = 0;
};
StagePlan assign_stages(const PlanProgram& program, const std::vector<BoundStep>& steps);

// Static shares: the units of an item are split evenly over the workers; single units and small
// items go to worker 0, or to the worker with the least work in that stage when that is much. Where
// one worker did everything since the last barrier and does the next stage too, none stands
// between: small models run as on one thread, and no stage of theirs waits for a worker that the
// system took off its CPU. Depends on the worker count only, never on time.
std::vector<Stage> share_work(const StagePlan& plan, const std::vector<BoundStep>& steps,
                              int workers);
// Has worker 0 all items?
bool is_for_one_worker(const std::vector<Stage>& stages);

}  // namespace stoker
