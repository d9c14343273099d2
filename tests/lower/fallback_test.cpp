// Ops that no family takes run by their reference evaluation, whatever their output shape hangs on,
// and reductions of scalars have a form: found by comparing random graphs with another runtime.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lower/lower_graph.h"
#include "plan/bind.h"

namespace stoker {
namespace {

// Tactics that take the only step of a graph in text form.
std::vector<TacticOption> options_of(const std::string& text) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.status().message();
  if (!graph) return {};
  const auto contents = lower_graph(**graph, {});
  EXPECT_TRUE(contents) << contents.status().message();
  if (!contents || contents->programs[0].steps.empty()) return {};
  const TacticRegistry registry(detect_isa());
  return tactic_options(*contents, contents->programs[0], contents->programs[0].steps[0],
                        optimum_of(*contents), registry, false);
}

TEST(Fallback, ReductionsWithConstantAxes) {
  for (const char* op : {"reduce_l1", "reduce_l2", "reduce_log_sum_exp", "reduce_sum_square"}) {
    EXPECT_FALSE(options_of(fmt::format("graph @g(%x: f32[2,3,4]) -> (%y: f32[2,1,4]) {{\n"
                                        "  @axes = const i64[1] {{1}}\n"
                                        "  %y = {}(%x, @axes) : f32[2,1,4]\n}}\n",
                                        op))
                     .empty())
        << op;
  }
}

TEST(Fallback, SlicesWithNegativeSteps) {
  EXPECT_FALSE(options_of("graph @g(%x: f32[4,5]) -> (%y: f32[4,3]) {\n"
                          "  @starts = const i64[1] {4}\n  @ends = const i64[1] {-6}\n"
                          "  @axes = const i64[1] {1}\n  @steps = const i64[1] {-2}\n"
                          "  %y = slice(%x, @starts, @ends, @axes, @steps) : f32[4,3]\n}\n")
                   .empty());
}

TEST(Fallback, SumsOfMoreOperandsThanARegionHolds) {
  for (const int count : {60, 70, 5000}) {
    std::string list;
    for (int i = 0; i < count; ++i) list += i ? ", %x" : "%x";
    const auto options = options_of("graph @g(%x: f32[4]) -> (%y: f32[4]) {\n  %y = sum(" + list +
                                    ") : f32[4]\n}\n");
    ASSERT_FALSE(options.empty()) << count;
    EXPECT_EQ(options[0].desc.family() == Family::kFallback, count > 4096) << count;
  }
}

TEST(Fallback, ReductionsOfScalars) {
  for (const char* op : {"reduce_sum", "reduce_max", "reduce_prod"}) {
    EXPECT_FALSE(options_of(fmt::format("graph @g(%x: i64[]) -> (%y: i64[]) {{\n"
                                        "  %y = {}(%x) {{keepdims=0}} : i64[]\n}}\n",
                                        op))
                     .empty())
        << op;
  }
}

}  // namespace
}  // namespace stoker
