// SPDX-License-Identifier: Apache-2.0
#include "plan/stages.h"

#include <algorithm>

namespace stoker {
namespace {

// Below this much work a step is not worth splitting: the second worker's cold caches and the cut
// cost more.
constexpr double kSplitWork = 16e3;

double step_cost(const Desc& desc) {
  const Work work = desc_work(desc);
  return std::max(work.flops / 16, work.bytes);
}

// By worker: has it units in this stage?
std::vector<bool> busy_workers(const Stage& stage) {
  std::vector<bool> busy;
  for (const StageItem& item : stage.items) {
    busy.resize(std::max(busy.size(), item.begin.size() - 1), false);
    for (size_t w = 0; w + 1 < item.begin.size(); ++w)
      busy[w] = busy[w] || item.begin[w] < item.begin[w + 1];
  }
  return busy;
}

void place_barriers(std::vector<Stage>& stages, int workers) {
  std::vector<bool> since(static_cast<size_t>(workers), false);  // the last barrier
  const auto join = [&](const std::vector<bool>& busy) {
    for (size_t w = 0; w < busy.size(); ++w) since[w] = since[w] || busy[w];
    return std::count(since.begin(), since.end(), true);
  };
  for (size_t i = 0; i < stages.size(); ++i) {
    join(busy_workers(stages[i]));
    // Behind the last stage the end of the run is the barrier.
    stages[i].barrier = i + 1 < stages.size() && join(busy_workers(stages[i + 1])) > 1;
    if (stages[i].barrier) std::fill(since.begin(), since.end(), false);
  }
}

}  // namespace

StagePlan assign_stages(const PlanProgram& program, const std::vector<BoundStep>& steps) {
  StagePlan plan;
  plan.first_stage.resize(steps.size());
  int32_t previous_end = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto phases = static_cast<int32_t>(steps[i].phase_units.size());
    int32_t earliest = 0;
    for (const int32_t before : program.steps[i].after) {
      const auto phases_before =
          static_cast<int32_t>(steps[static_cast<size_t>(before)].phase_units.size());
      earliest = std::max(earliest, plan.first_stage[static_cast<size_t>(before)] + phases_before);
    }
    // Plan order is kept otherwise: running far ahead of it would stretch lifetimes. A step may
    // join the last stage before it when nothing there is needed by it.
    const int32_t stage = std::max(earliest, previous_end - 1);
    plan.first_stage[i] = std::max(stage, 0);
    previous_end = std::max(previous_end, plan.first_stage[i] + phases);
    plan.stage_count = std::max(plan.stage_count, previous_end);
  }
  return plan;
}

std::vector<Stage> share_work(const StagePlan& plan, const std::vector<BoundStep>& steps,
                              int workers) {
  std::vector<Stage> stages(static_cast<size_t>(plan.stage_count));
  std::vector<std::vector<double>> load(stages.size(),
                                        std::vector<double>(static_cast<size_t>(workers), 0));
  for (size_t i = 0; i < steps.size(); ++i) {
    const double cost = step_cost(steps[i].desc);
    for (size_t phase = 0; phase < steps[i].phase_units.size(); ++phase) {
      const size_t stage = static_cast<size_t>(plan.first_stage[i]) + phase;
      const int64_t units = steps[i].phase_units[phase];
      StageItem item{static_cast<int32_t>(i), static_cast<int32_t>(phase), {}};
      item.begin.assign(static_cast<size_t>(workers) + 1, 0);
      if (units < 2 || cost < kSplitWork) {
        const auto least =
            load[stage][0] + cost < kSplitWork
                ? 0
                : std::min_element(load[stage].begin(), load[stage].end()) - load[stage].begin();
        for (int w = 0; w < workers; ++w)
          item.begin[static_cast<size_t>(w) + 1] = w >= least ? units : 0;
        load[stage][static_cast<size_t>(least)] += cost;
      } else {
        for (int w = 0; w < workers; ++w) {
          item.begin[static_cast<size_t>(w) + 1] = units * (w + 1) / workers;
          load[stage][static_cast<size_t>(w)] += cost / workers;
        }
      }
      stages[stage].items.push_back(std::move(item));
    }
  }
  place_barriers(stages, workers);
  return stages;
}

bool is_for_one_worker(const std::vector<Stage>& stages) {
  return std::all_of(stages.begin(), stages.end(), [](const Stage& stage) {
    const std::vector<bool> busy = busy_workers(stage);
    return std::find(busy.begin() + std::min<ptrdiff_t>(1, std::ssize(busy)), busy.end(), true) ==
           busy.end();
  });
}

}  // namespace stoker
