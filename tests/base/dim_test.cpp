// Symbolic extents: arithmetic, canonical form, text, evaluation, hostile text.
// SPDX-License-Identifier: Apache-2.0
#include "base/dim.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

const Dim N = Dim::symbol("N"), H = Dim::symbol("H");

TEST(Dim, EqualExpressionsCompareEqual) {
  EXPECT_EQ(N * Dim(256), Dim(256) * N);
  EXPECT_EQ(N + N, Dim(2) * N);
  EXPECT_EQ(N - N, Dim(0));
  EXPECT_EQ((N + H) * (N - H), N * N - H * H);
  EXPECT_NE(N, H);
}

TEST(Dim, DivisionIsExactWhereItCanBe) {
  EXPECT_EQ(Dim::floor_div(N * Dim(256), Dim(256)), N);
  EXPECT_EQ(Dim::floor_div(N * H * Dim(6), H * Dim(2)), N * Dim(3));
  EXPECT_EQ(Dim::floor_div(N + Dim(1), Dim(2)).text(), "floor_div(N+1,2)");
  EXPECT_EQ(Dim::mod(N * Dim(4), Dim(2)), Dim(0));
  EXPECT_EQ(Dim::floor_div(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(Dim::ceil_div(Dim(-7), Dim(2)), Dim(-3));
}

TEST(Dim, MinAndMaxAbsorbEachOther) {
  EXPECT_EQ(Dim::max(N, Dim::min(N, Dim(512))), N);
  EXPECT_EQ(Dim::min(Dim::max(H, N), N), N);
  EXPECT_NE(Dim::max(N, Dim::min(H, Dim(512))), N);
  EXPECT_EQ(Dim::min(8, Dim::min(N, 8)), Dim::min(N, 8));
  EXPECT_EQ(Dim::max(Dim::max(N, 1), 1), Dim::max(N, 1));
}

TEST(Dim, ProductsOfLongSumsStaySmall) {
  Dim sum(1), other(2);
  for (int i = 0; i < 40; ++i) {
    sum = sum + Dim::symbol("a" + std::to_string(i));
    other = other + Dim::symbol("b" + std::to_string(i));
  }
  const Dim squared = sum * other * sum;
  EXPECT_EQ(sum * other, other * sum);
  EXPECT_LT(squared.text().size(), 1000u);
  EXPECT_EQ(Dim::parse(squared.text())->text(), squared.text());
  SymbolValues values;
  for (int i = 0; i < 40; ++i)
    values["a" + std::to_string(i)] = values["b" + std::to_string(i)] = i;
  EXPECT_EQ(*squared.evaluate(values), int64_t{781} * 782 * 781);
  EXPECT_FALSE(squared.is_large());
  std::map<std::string, Dim> ones;
  for (const auto& [name, value] : values) ones.emplace(name, Dim(1));
  EXPECT_EQ(squared.substitute(ones), Dim(41 * 42 * 41));
}

TEST(Dim, LargeIsLongOrDeep) {
  Dim chain = N;
  int links = 0;
  while (!chain.is_large()) chain = Dim::min(chain + Dim(++links), Dim(1000 + links));
  EXPECT_LT(links, 32);
  EXPECT_TRUE(Dim::parse(chain.text()));
}

TEST(Dim, TextRoundTrips) {
  for (const char* text : {"0", "3", "-2", "N", "4*N+1", "N*N-H", "-N+2", "ceil_div(H-3,2)+1",
                           "max(0,min(N,H))", "mod(floor_div(N+1,2),3)"}) {
    const auto parsed = Dim::parse(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.status().message();
    const auto again = Dim::parse(parsed->text());
    ASSERT_TRUE(again) << parsed->text();
    EXPECT_EQ(again->text(), parsed->text());
    EXPECT_EQ(*again, *parsed);
  }
}

TEST(Dim, Evaluates) {
  const SymbolValues values{{"N", 3}, {"H", 7}};
  const auto value = [&](const char* text) { return *Dim::parse(text)->evaluate(values); };
  EXPECT_EQ(value("4*N+1"), 13);
  EXPECT_EQ(value("ceil_div(H,2)"), 4);
  EXPECT_EQ(value("floor_div(H,2)*N"), 9);
  EXPECT_EQ(value("max(N,H)-min(N,H)"), 4);
  EXPECT_EQ(value("mod(-H,4)"), 1);
}

TEST(Dim, EvaluationErrorsAreErrors) {
  EXPECT_FALSE(N.evaluate({}));
  EXPECT_FALSE(Dim::floor_div(N, H).evaluate({{"N", 1}, {"H", 0}}));
  EXPECT_FALSE((N * N).evaluate({{"N", int64_t{1} << 40}}));
  EXPECT_FALSE((N + N).evaluate({{"N", INT64_MAX}}));
  EXPECT_FALSE(Dim::floor_div(N, H).evaluate({{"N", INT64_MIN}, {"H", -1}}));
  for (const auto divide : {Dim::floor_div, Dim::ceil_div, Dim::mod}) {
    EXPECT_FALSE(divide(Dim(INT64_MIN), Dim(-1)).evaluate({}));
    EXPECT_FALSE(divide(Dim(1), Dim(0)).evaluate({}));
  }
}

TEST(Dim, HostileTextIsRefused) {
  for (const std::string text :
       {std::string(""), std::string("N+"), std::string("(N)"), std::string("f(N,1)"),
        std::string("99999999999999999999"), std::string("N N"), std::string("max(N)"),
        std::string("N*"), std::string("3N")}) {
    EXPECT_FALSE(Dim::parse(text)) << text;
  }
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "max(";
  EXPECT_FALSE(Dim::parse(deep));
}

TEST(Dim, SubstitutesSymbols) {
  EXPECT_EQ((N * Dim(4) + H).substitute({{"N", Dim(2)}}), H + Dim(8));
  EXPECT_EQ(Dim::ceil_div(N, Dim(2)).substitute({{"N", Dim(5)}}), Dim(3));
}

}  // namespace
}  // namespace stoker
