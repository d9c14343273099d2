// Characters and patterns: what tables of cases cannot write down.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"
#include "ops/re2_pattern.h"
#include "ops/unicode.h"

namespace stoker {
namespace {

std::vector<uint32_t> characters(std::string_view text) {
  std::vector<uint32_t> all;
  for (size_t at = 0; at < text.size();) all.push_back(next_character(text, at));
  return all;
}

TEST(Unicode, EveryCharacterComesBack) {
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_character(text, c);
    ASSERT_EQ(characters(text), std::vector<uint32_t>{c});
  }
}

TEST(Unicode, InvalidBytesComeBack) {
  for (const std::string& text :
       {std::string("\xff\xfe"), std::string("a\x80z"), std::string("\xc0\x80"),
        std::string("\xe4\xb8"), std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"),
        std::string("\xf0\x9f\x98"), std::string("\xe4\xb8z")}) {
    std::string again;
    for (const uint32_t c : characters(text)) append_character(again, c);
    EXPECT_EQ(again, text);
    EXPECT_EQ(upper_text(in_small_letters(text)).size(), text.size());
  }
}

TEST(Unicode, CaseMappings) {
  EXPECT_EQ(upper_text("az09 éÿßåäöœž αώς жё ա ａ ⅸ ⓩ ŉ"), "AZ09 ÉŸßÅÄÖŒŽ ΑΏΣ ЖЁ Ա Ａ Ⅸ Ⓩ ŉ");
  EXPECT_EQ(in_small_letters("AZ09 ÉŸẞÅÄÖŒŽ ΑΏΣ ЖЁ Ա Ａ Ⅸ Ⓩ"), "az09 éÿßåäöœž αώσ жё ա ａ ⅸ ⓩ");
  EXPECT_EQ(in_small_letters("Ĳ Ǆ Ȁ Ḁ Ỳ Ἀ"), "ĳ ǆ ȁ ḁ ỳ ἀ");
  EXPECT_EQ(upper_text("中文 ا א"), "中文 ا א");
}

std::string translated(std::string_view pattern) {
  const auto result = pcre2_pattern(pattern);
  return result.is_ok() ? *result : "error: " + result.status().message();
}

TEST(Re2Pattern, WhatBothReadAlikePasses) {
  for (const char* same : {"", "a|b", "(a)(?:b)", "(?i)a(?-i:b)", "(?P<n>a)", "[a-z]", "[^]a]",
                           "\\d+\\W?", "\\pL\\P{Lu}", "a{2}", "a{2,}?", "\\x{1F600}", "\\101",
                           "\\bx\\B", "\\Aa\\z", "[[:alpha:]_]", "^$", "."}) {
    const std::string given = same;
    EXPECT_EQ(translated(given), given == "[^]a]" ? "[^\\]a]" : given);
  }
}

TEST(Re2Pattern, WhatDiffersIsTurned) {
  EXPECT_EQ(translated("\\s\\S"), "[\\t\\n\\f\\r ][^\\t\\n\\f\\r ]");
  EXPECT_EQ(translated("[\\sx]"), "[\\t\\n\\f\\r x]");
  EXPECT_EQ(translated("\\v"), "[\\x0b]");
  EXPECT_EQ(translated("\\Qa.b\\E+"), "a\\.b+");
  EXPECT_EQ(translated("\\Qa.b"), "a\\.b");
  EXPECT_EQ(translated("a{,2}{"), "a\\{,2}\\{");
  EXPECT_EQ(translated("[[a]"), "[\\[a]");
  EXPECT_EQ(translated("\\é"), "é");
}

TEST(Re2Pattern, WhatRe2LacksIsRefused) {
  for (const char* pattern :
       {"\\1",     "[\\1]", "(?=a)", "(?!a)",   "(?<=a)", "(?<!a)",    "(?>a)", "(?R)",
        "(?1)",    "(?|a)", "(?#a)", "(*FAIL)", "a++",    "a*+",       "a**",   "a{2}{3}",
        "a{2000}", "\\Z",   "\\G",   "\\R",     "\\K",    "\\k<n>",    "\\h",   "\\C",
        "\\",      "[a",    "[\\",   "(?",      "(?x)a",  "[[:alpha:", "\\p{L", "[\\b]"}) {
    EXPECT_EQ(translated(pattern).substr(0, 6), "error:") << pattern;
  }
}

TEST(RegexFullMatch, BytesThatAreNoUtf8MatchNothing) {
  auto strings = Tensor::from_strings({4}, {"\xff", "a\x80", "ab", std::string("a\0b", 3)});
  const auto match = [&](const char* pattern) {
    auto made = evaluate_op(*find_op("regex_full_match"), {{"pattern", std::string(pattern)}},
                            {*strings}, 1);
    std::string answers;
    if (!made.is_ok()) return made.status().message();
    for (const bool answer : (*made)[0].values<bool>()) answers += answer ? '1' : '0';
    return answers;
  };
  EXPECT_EQ(match(".*"), "0011");
  EXPECT_EQ(match("a."), "0010");
  EXPECT_EQ(match("a\\x00b"), "0001");
}

TEST(StringSplit, UnicodeWhiteSpace) {
  auto strings = Tensor::from_strings({1}, {"\t a\xc2\xa0"
                                            "b\xe3\x80\x80\n"
                                            "c\xff \r"});
  auto made = evaluate_op(*find_op("string_split"), {}, {*strings}, 2);
  ASSERT_TRUE(made.is_ok()) << made.status().message();
  EXPECT_EQ((*made)[0].strings(), (std::vector<std::string>{"a", "b", "c\xff"}));
}

}  // namespace
}  // namespace stoker
