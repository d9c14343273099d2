// SPDX-License-Identifier: Apache-2.0
#include "base/knobs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>
#include <set>

namespace stoker {
namespace {

void expect_message(const Status& status, const std::string& part) {
  ASSERT_FALSE(status.is_ok());
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(Knobs, DefaultsAreValidAndCanonical) {
  std::set<std::string_view> names;
  for (const KnobInfo& info : all_knobs()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    KnobSet set;
    ASSERT_TRUE(set.set(info.name, info.default_text).is_ok()) << info.name;
    EXPECT_EQ(set, KnobSet()) << info.name << ": its default is not in canonical form";
    EXPECT_TRUE(info.scope == "build" || info.scope == "run" || info.scope == "any") << info.name;
    EXPECT_EQ(&knob_info(info.knob), &info);
    EXPECT_FALSE(info.help.empty());
  }
}

TEST(Knobs, SetAndGet) {
  KnobSet set;
  EXPECT_TRUE(set.get_bool(Knob::kLayoutC16));
  ASSERT_TRUE(set.set("layout_c16", "off").is_ok());
  EXPECT_FALSE(set.get_bool(Knob::kLayoutC16));
  ASSERT_TRUE(set.set("threads", "0012").is_ok());
  EXPECT_EQ(set.get_int(Knob::kThreads), 12);
  ASSERT_TRUE(set.set("isa", "v4x").is_ok());
  EXPECT_EQ(set.get_string(Knob::kIsa), "v4x");
  ASSERT_TRUE(set.set("disable_passes", "dce,cse,dce").is_ok());
  EXPECT_EQ(set.get_list(Knob::kDisablePasses), (std::vector<std::string>{"cse", "dce"}));
  EXPECT_FALSE(set.is_default(Knob::kIsa));
  EXPECT_TRUE(set.is_default(Knob::kSpinUs));
}

TEST(Knobs, RefusalsNameTheRangeOrTheNearest) {
  KnobSet set;
  expect_message(set.set("thread", "1"), "did you mean 'threads'");
  expect_message(set.set("zzzzzzzz", "1"), "unknown knob 'zzzzzzzz'; ");
  expect_message(set.set("threads", "1025"), "0..1024");
  expect_message(set.set("threads", "-1"), "0..1024");
  expect_message(set.set("threads", "2x"), "0..1024");
  expect_message(set.set("threads", ""), "0..1024");
  expect_message(set.set("threads", "99999999999999999999"), "0..1024");
  expect_message(set.set("isa", "V3"), "auto|baseline|v3|v4|v4x");
  expect_message(set.set("layout_c16", "maybe"), "true or false");
  expect_message(set.set("disable_passes", "a b"), "pass names");
  expect_message(set.set("disable_passes", "a,,b"), "pass names");
  expect_message(set.set("dump_after", std::string(5000, 'x')), "5000 bytes");
  EXPECT_EQ(set, KnobSet());
}

TEST(Knobs, Routes) {
  KnobSet set;
  ASSERT_TRUE(set.parse_route("  layout_c16=0\tdisable_passes=dce,cse timing_cache=\"/a b/\\\"c\" ")
                  .is_ok());
  EXPECT_FALSE(set.get_bool(Knob::kLayoutC16));
  EXPECT_EQ(set.get_string(Knob::kTimingCache), "/a b/\"c");
  const std::string route = set.effective_route();
  EXPECT_NE(route.find("layout_c16=false"), std::string::npos) << route;
  EXPECT_NE(route.find("disable_passes=cse,dce"), std::string::npos) << route;
  EXPECT_EQ(route.find("timing_cache"), std::string::npos) << route;
  EXPECT_EQ(route.find("threads"), std::string::npos) << route;
  KnobSet again;
  ASSERT_TRUE(again.parse_route(route).is_ok());
  EXPECT_EQ(again.effective_route(), route);
  // Sorted by name, whatever the order of knobs.def.
  EXPECT_LT(route.find("disable_passes"), route.find("fold_constants_limit_mib"));
}

TEST(Knobs, BadRoutesChangeNothing) {
  KnobSet set;
  expect_message(set.parse_route("layout_c16=false treads=2"), "did you mean 'threads'");
  expect_message(set.parse_route("layout_c16=false threads"), "expected knob=value at column 18");
  expect_message(set.parse_route("layout_c16=false =3"), "expected knob=value");
  expect_message(set.parse_route("threads=1 threads=2"), "set twice");
  expect_message(set.parse_route("timing_cache=\"abc"), "no closing quote");
  expect_message(set.parse_route("timing_cache=\"abc\"d"), "expected a space");
  EXPECT_EQ(set, KnobSet());
}

TEST(Knobs, Environment) {
  ASSERT_EQ(setenv("STOKER_SPIN_US", "17", 1), 0);
  ASSERT_EQ(setenv("STOKER_TEST_DATA", "/somewhere", 1), 0);
  auto set = KnobSet::from_environment();
  ASSERT_TRUE(set.is_ok()) << set.status().message();
  EXPECT_EQ(set->get_int(Knob::kSpinUs), 17);
  setenv("STOKER_SPIN_US", "many", 1);
  expect_message(KnobSet::from_environment().status(), "environment variable STOKER_SPIN_US");
  unsetenv("STOKER_SPIN_US");
  setenv("STOKER_THREAD", "1", 1);
  expect_message(KnobSet::from_environment().status(), "did you mean STOKER_THREADS?");
  unsetenv("STOKER_THREAD");
  EXPECT_EQ(*KnobSet::from_environment(), KnobSet());
  unsetenv("STOKER_TEST_DATA");
}

TEST(Knobs, Listings) {
  const auto json = nlohmann::json::parse(knobs_json());
  ASSERT_EQ(json.size(), all_knobs().size());
  const auto isa =
      std::find_if(json.begin(), json.end(), [](const auto& k) { return k["name"] == "isa"; });
  ASSERT_NE(isa, json.end());
  EXPECT_EQ((*isa)["type"], "enum");
  EXPECT_EQ((*isa)["values"], "auto|baseline|v3|v4|v4x");
  EXPECT_EQ((*isa)["enters_engine_key"], false);
  for (const KnobInfo& info : all_knobs()) {
    EXPECT_NE(knobs_text().find(info.name), std::string::npos);
  }
}

}  // namespace
}  // namespace stoker
