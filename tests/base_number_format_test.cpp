// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <layerbench/base/number_format.hpp>

namespace layerbench::format {
namespace base_number_format_test {

TEST(Digits, AreThoseThatAnIntervalSupports) {
  EXPECT_EQ(known_digits(17.7, 17.7, 17.7), 4) << "nothing is known against them";
  EXPECT_EQ(known_digits(1000, 999, 1001), 4);
  EXPECT_EQ(known_digits(1000, 990, 1010), 3);
  EXPECT_EQ(known_digits(1000, 800, 1200), 2);
  EXPECT_EQ(known_digits(1000, 0, 4000), 1);
  EXPECT_EQ(known_digits(1000, 0, 1e9), 1);
}

TEST(Digits, AreRoundedAboveThePointToo) {
  EXPECT_EQ(significant(1234.4, 4), "1234");
  EXPECT_EQ(significant(123456, 4), "123456") << "four digits keep all";
  EXPECT_EQ(significant(123456, 2), "120000");
  EXPECT_EQ(significant(17.72, 2), "18");
  EXPECT_EQ(significant(17.72, 1), "20");
  EXPECT_EQ(significant(0.01772, 2), "0.018");
  EXPECT_EQ(significant(0, 2), "0.0");
  EXPECT_EQ(four_digits(17.72), "17.72");
  EXPECT_EQ(milliseconds(0.01772, 2), "18");
  EXPECT_EQ(range(0.01, 0.02, 1), "10 to 20");
  EXPECT_EQ(rate(std::nullopt, 1), "refused");
}

}  // namespace base_number_format_test
}  // namespace layerbench::format
