// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/base/number_format.hpp>
#include <layerbench/base/units.hpp>

namespace layerbench::units {
namespace base_units_test {

struct sample {
  double value;
  std::string text;
};

TEST(si, keeps_three_digits_and_picks_the_prefix) {
  const std::vector<sample> samples{{1.23e9, "1.23 GB"}, {1, "1.00 B"},        {12.3, "12.3 B"},
                                    {123, "123 B"},      {1000, "1.00 kB"},    {4.56e-3, "4.56 mB"},
                                    {7.8e-6, "7.80 uB"}, {3.21e-9, "3.21 nB"}, {1e-3, "1.00 mB"},
                                    {1e-6, "1.00 uB"},   {1e-9, "1.00 nB"},    {1e6, "1.00 MB"},
                                    {1e12, "1.00 TB"},   {1e15, "1.00 PB"},    {0.5, "500 mB"}};
  for (const sample& s : samples) EXPECT_EQ(si(s.value, "B"), s.text);
}

TEST(si, carries_when_rounding_reaches_the_next_digit_or_prefix) {
  const std::vector<sample> samples{{999.4, "999 B"},     {999.5, "1.00 kB"},    {999.6, "1.00 kB"},
                                    {999.6e3, "1.00 MB"}, {0.9996, "1.00 B"},    {99.94, "99.9 B"},
                                    {99.96, "100 B"},     {9.994, "9.99 B"},     {9.996, "10.0 B"},
                                    {0.9994, "999 mB"},   {999.96e-9, "1.00 uB"}};
  for (const sample& s : samples) EXPECT_EQ(si(s.value, "B"), s.text) << s.value;
}

TEST(si, keeps_the_sign) {
  EXPECT_EQ(si(-1.5e-3, "s"), "-1.50 ms");
  EXPECT_EQ(si(-999.6, "s"), "-1.00 ks");
}

TEST(si, writes_zero_and_what_is_no_number_without_prefix) {
  EXPECT_EQ(si(0, "B"), "0 B");
  EXPECT_EQ(si(INFINITY, "B"), "inf B");
  EXPECT_EQ(si(-INFINITY, "B"), "-inf B");
  EXPECT_EQ(si(NAN, "B"), "nan B");
}

TEST(si, stops_at_the_last_prefix) {
  EXPECT_EQ(si(999.6e15, "B"), "1000 PB");
  EXPECT_EQ(si(1.5e20, "B"), "150000 PB");
  EXPECT_EQ(si(2.5e-10, "s"), "0.25 ns");
}

TEST(duration, is_in_si_units_below_a_minute) {
  const std::vector<sample> samples{{850e-6, "850 us"}, {12.3e-3, "12.3 ms"}, {4.2, "4.20 s"},
                                    {59.4, "59.4 s"},   {0, "0 s"},           {-0.25, "-250 ms"},
                                    {0.9996, "1.00 s"}};
  for (const sample& s : samples) EXPECT_EQ(duration(s.value), s.text);
}

TEST(duration, is_in_minutes_and_hours_above) {
  const std::vector<sample> samples{{60, "1 min 00 s"},      {200, "3 min 20 s"},
                                    {200.5, "3 min 21 s"},   {3599.4, "59 min 59 s"},
                                    {3599.6, "1 h 00 min"},  {7500, "2 h 05 min"},
                                    {360000, "100 h 00 min"}};
  for (const sample& s : samples) EXPECT_EQ(duration(s.value), s.text) << s.value;
}

TEST(signed_percent, is_a_ratio_where_percents_are_many) {
  const std::vector<sample> samples{
      {0.021, "+2.1 %"}, {-0.5, "-50.0 %"}, {9.99, "+999.0 %"}, {10, "11x"}, {628.188, "629x"}};
  for (const sample& s : samples) EXPECT_EQ(format::signed_percent(s.value), s.text);
  EXPECT_EQ(format::signed_percent(std::nullopt), "");
}

}  // namespace base_units_test
}  // namespace layerbench::units
