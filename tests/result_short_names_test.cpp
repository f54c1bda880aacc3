// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/result/short_names.hpp>

namespace layerbench::result {
namespace result_short_names_test {

using ::testing::ElementsAre;

short_names short_of(const std::vector<std::string>& names) { return short_names_of(names); }

TEST(ShortNames, KeepWhatDiffers) {
  const short_names of = short_of({"conv/fwd/x/a/b:1", "conv/fwd/x/c/b:1", "conv/bwd/x/a/b:1"});
  EXPECT_EQ(of.shared, "conv/*/x/*/b:1");
  EXPECT_THAT(of.own, ElementsAre("fwd/a", "fwd/c", "bwd/a"));
}

TEST(ShortNames, ShareBothEndsWhereNumbersOfPartsDiffer) {
  const short_names of = short_of({"conv/x/a/b:1/c:2", "conv/x/a/c:2", "conv/x/d/b:3/c:2"});
  EXPECT_EQ(of.shared, "conv/x/*/c:2");
  EXPECT_THAT(of.own, ElementsAre("a/b:1", "a", "d/b:3"));
}

TEST(ShortNames, AreWholeWhereNothingIsShared) {
  const short_names of = short_of({"a/b", "c/d"});
  EXPECT_EQ(of.shared, "");
  EXPECT_THAT(of.own, ElementsAre("a/b", "c/d"));
}

TEST(ShortNames, OfOneRowAreItsName) {
  EXPECT_THAT(short_of({"a/b/c"}).own, ElementsAre("a/b/c"));
  EXPECT_EQ(short_of({"a/b/c", "a/b/c"}).shared, "");
  EXPECT_THAT(short_of({}).own, ElementsAre());
}

TEST(ShortNames, OneMayBeTheBeginningOfTheOther) {
  const short_names of = short_of({"a/b", "a/b/c"});
  EXPECT_EQ(of.shared, "a/*");
  EXPECT_THAT(of.own, ElementsAre("b", "b/c"));
}

}  // namespace result_short_names_test
}  // namespace layerbench::result
