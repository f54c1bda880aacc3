// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <layerbench/base/number_format.hpp>

namespace layerbench::format {
namespace base_number_format_test {

TEST(Digits, AreThoseThatAnIntervalSupports) {
  EXPECT_EQ(known_digits(17.7, 17.7, 17.7), 2) << "no interval supports any";
  EXPECT_EQ(known_digits(1000, 999, 1001), 4);
  EXPECT_EQ(known_digits(1000, 990, 1010), 3);
  EXPECT_EQ(known_digits(1000, 800, 1200), 2);
  EXPECT_EQ(known_digits(1000, 0, 4000), 2);
  EXPECT_EQ(known_digits(1000, 0, 1e9), 2);
}

TEST(Digits, AreRoundedAboveThePointToo) {
  EXPECT_EQ(significant(1234.4, 4), "1234");
  EXPECT_EQ(significant(123456, 4), "123456") << "four digits keep all";
  EXPECT_EQ(significant(123456, 2), "120000");
  EXPECT_EQ(significant(17.72, 2), "18");
  EXPECT_EQ(significant(17.72, 1), "20");
  EXPECT_EQ(significant(0.01772, 2), "0.018");
  EXPECT_EQ(significant(9.96, 2), "10");
  EXPECT_EQ(significant(0, 2), "0.0");
  EXPECT_EQ(four_digits(17.72), "17.72");
  EXPECT_EQ(range(stats::interval{0.01, 0.02}, 2), "10 to 20");
  EXPECT_EQ(rate(std::nullopt, 2), "refused");
}

TEST(Digits, AreAsFewInWhatFollowsFromARoundedFigure) {
  EXPECT_EQ(milliseconds(0.01772, 4), "17.72");
  EXPECT_EQ(milliseconds(0.01772, 2), "~18");
  EXPECT_EQ(rate(56.43, 2), "~56");
  EXPECT_EQ(signed_percent(0.3406, 4), "+34.1 %");
  EXPECT_EQ(signed_percent(0.3406, 3), "~+34 %");
  EXPECT_EQ(signed_percent(0.3406, 2), "~+30 %");
  EXPECT_EQ(signed_percent(-0.613, 2), "~-60 %");
  EXPECT_EQ(signed_percent(11.2, 2), "~12x");
  EXPECT_EQ(percent(0.3406), "34.1 %");
  EXPECT_EQ(percent(0.3406, 2), "~30 %");
}

}  // namespace base_number_format_test
}  // namespace layerbench::format
