// Shares of the workers and the barriers between stages.
// SPDX-License-Identifier: Apache-2.0
#include "plan/stages.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

// A copy of so many floats in so many units, after the steps before it.
struct Work {
  int64_t floats, units;
  std::vector<int32_t> after;
};

struct Shared {
  PlanProgram program;
  std::vector<BoundStep> steps;
  std::vector<Stage> stages;
};

Shared share(const std::vector<Work>& list, int workers) {
  Shared s;
  for (const Work& work : list) {
    PlanStep step;
    step.after = work.after;
    s.program.steps.push_back(step);
    BoundStep bound;
    const TensorDesc tensor{DType::kF32, {work.floats}};
    bound.desc = Desc{identity_copy(1), {tensor}, {tensor}};
    bound.phase_units = {work.units};
    s.steps.push_back(bound);
  }
  s.stages = share_work(assign_stages(s.program, s.steps), s.steps, workers);
  return s;
}

std::vector<bool> barriers(const Shared& s) {
  std::vector<bool> list;
  for (const Stage& stage : s.stages) list.push_back(stage.barrier);
  return list;
}

constexpr int64_t kSmall = 100, kLarge = 100000;

TEST(Stages, SmallStepsNeedNoBarriers) {
  const Shared s = share({{kSmall, 8, {}}, {kSmall, 1, {0}}, {kSmall, 8, {1}}}, 2);
  EXPECT_EQ(barriers(s), (std::vector<bool>{false, false, false}));
  EXPECT_TRUE(is_for_one_worker(s.stages));
}

TEST(Stages, SharedStepsStandBetweenBarriers) {
  const Shared s = share({{kSmall, 1, {}},
                          {kSmall, 1, {0}},
                          {kLarge, 8, {1}},
                          {kLarge, 8, {2}},
                          {kSmall, 1, {3}},
                          {kSmall, 1, {4}}},
                         2);
  EXPECT_EQ(barriers(s), (std::vector<bool>{false, true, true, true, false, false}));
  EXPECT_FALSE(is_for_one_worker(s.stages));
}

// Two large single units of one stage run beside each other; what follows waits for both.
TEST(Stages, SingleUnitsSpreadWhenTheyAreLarge) {
  const Shared large = share({{kLarge, 1, {}}, {kLarge, 1, {}}, {kSmall, 1, {0, 1}}}, 2);
  ASSERT_EQ(large.stages.size(), 2u);
  EXPECT_EQ(large.stages[0].items[0].begin, (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(large.stages[0].items[1].begin, (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(barriers(large), (std::vector<bool>{true, false}));
  const Shared small = share({{kSmall, 1, {}}, {kSmall, 1, {}}, {kSmall, 1, {0, 1}}}, 2);
  EXPECT_TRUE(is_for_one_worker(small.stages));
}

TEST(Stages, OneWorkerAndNoSteps) {
  EXPECT_EQ(barriers(share({{kLarge, 8, {}}, {kLarge, 8, {0}}}, 1)),
            (std::vector<bool>{false, false}));
  EXPECT_TRUE(is_for_one_worker(share({}, 2).stages));
}

}  // namespace
}  // namespace stoker
