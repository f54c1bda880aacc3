// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/base/stats.hpp>

namespace layerbench::stats {
namespace base_stats_test {

std::vector<double> ranks(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(quantile, interpolates_between_order_statistics) {
  const std::vector<double> sorted{1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1.0 / 3), 2);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.9), 4 + 0.7 * 4);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 8);
}

TEST(quantile, of_one_value_is_that_value) {
  for (const double q : {0.0, 0.3, 1.0}) EXPECT_EQ(quantile({7}, q), 7);
}

TEST(median, needs_no_order) {
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 2}), 3.5);
  EXPECT_EQ(median({4}), 4);
}

TEST(mean, divides_by_the_number) { EXPECT_EQ(mean({1, 2, 6}), 3); }

TEST(stddev, divides_by_one_less_than_the_number) {
  EXPECT_DOUBLE_EQ(stddev({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_EQ(stddev({3, 3, 3}), 0);
}

TEST(stddev, of_fewer_than_two_values_is_zero) {
  EXPECT_EQ(stddev({}), 0);
  EXPECT_EQ(stddev({5}), 0);
}

TEST(stddev, survives_a_large_common_offset) {
  EXPECT_DOUBLE_EQ(stddev({1e9 + 1, 1e9 + 2, 1e9 + 3}), 1);
}

TEST(median_interval, does_not_exist_below_six_values) {
  for (std::size_t n = 0; n < 6; ++n) EXPECT_FALSE(median_interval(ranks(n))) << n;
}

TEST(median_interval, has_the_ranks_of_the_published_tables) {
  // n and the lower rank k for 95 %; the upper one is n + 1 - k.
  const std::vector<std::pair<std::size_t, double>> table{
      {6, 1},  {7, 1},  {8, 1},  {9, 2},  {10, 2}, {11, 2},  {12, 3},  {13, 3},  {14, 3},
      {15, 4}, {16, 4}, {17, 5}, {20, 6}, {25, 8}, {30, 10}, {40, 14}, {50, 18}, {100, 40}};
  for (const auto& [n, k] : table) {
    const auto found = median_interval(ranks(n));
    ASSERT_TRUE(found) << n;
    EXPECT_EQ(found->low, k) << n;
    EXPECT_EQ(found->high, static_cast<double>(n) + 1 - k) << n;
  }
}

TEST(median_interval, widens_with_the_confidence) {
  const auto usual = median_interval(ranks(20), 0.95);
  const auto range_required = median_interval(ranks(20), 0.99);
  ASSERT_TRUE(usual && range_required);
  EXPECT_EQ(range_required->low, 4);
  EXPECT_EQ(range_required->high, 17);
  EXPECT_LT(range_required->low, usual->low);
  EXPECT_FALSE(median_interval(ranks(7), 0.99));
}

TEST(median_interval, stays_central_for_many_values) {
  const auto found = median_interval(ranks(100000));
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->low, 50000.5 - 0.98 * std::sqrt(100000.0), 2);
}

/// Uniform in [0, 1), the same with every standard library.
double uniform(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11U) * 0x1p-53; }

double normal(std::mt19937_64& engine) {
  const double radius = std::sqrt(-2 * std::log1p(-uniform(engine)));
  return radius * std::cos(2 * std::numbers::pi * uniform(engine));
}

struct distribution {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
  double median;
};

TEST(median_interval, covers_the_median_of_any_distribution) {
  using engine = std::mt19937_64;
  const std::vector<distribution> distributions{
      {"constant", [](engine&) { return 3; }, 3},
      {"uniform", uniform, 0.5},
      {"normal", normal, 0},
      {"lognormal", [](engine& e) { return std::exp(normal(e)); }, 1},
      {"exponential", [](engine& e) { return -std::log1p(-uniform(e)); }, std::numbers::ln2},
      {"cauchy", [](engine& e) { return std::tan(std::numbers::pi * (uniform(e) - 0.5)); }, 0},
      {"three values", [](engine& e) { return std::floor(3 * uniform(e)); }, 1},
      {"two modes", [](engine& e) { return (uniform(e) < 0.6 ? 1 : 3) + 0.1 * uniform(e); },
       1 + 0.1 * 5 / 6},
      {"mostly fast",
       [](engine& e) {
         const double u = uniform(e);
         return u < 0.9 ? 1 + u : 50 * u;
       },
       1.5}};
  constexpr int trials = 5000;
  for (const std::size_t n : {6U, 9U, 20U, 50U}) {
    for (const distribution& item : distributions) {
      engine random(n);
      int covered = 0;
      for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> values(n);
        for (double& v : values) v = item.draw(random);
        std::ranges::sort(values);
        const auto found = median_interval(values);
        ASSERT_TRUE(found);
        covered += found->low <= item.median && item.median <= found->high ? 1 : 0;
      }
      EXPECT_GE(covered, 0.95 * trials) << item.name << ", n = " << n;
    }
  }
}

TEST(median_interval, is_a_point_where_all_values_agree) {
  const auto found = median_interval(std::vector<double>(8, 0.25));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->low, 0.25);
  EXPECT_EQ(found->high, 0.25);
}

TEST(students, p_is_what_closed_forms_say) {
  for (const double t : {0.01, 0.5, 1.0, 3.0, 10.0, 300.0}) {
    const double one = 2 / std::numbers::pi * std::atan(1 / t);
    EXPECT_NEAR(student_t_p_value(t, 1) / one, 1, 1e-12) << t;
    const double root = std::sqrt(2 + t * t);
    EXPECT_NEAR(student_t_p_value(t, 2) / (2 / (root * (root + t))), 1, 1e-12) << t;
    EXPECT_EQ(student_t_p_value(-t, 2), student_t_p_value(t, 2));
  }
  // Of many degrees of freedom it is the normal distribution.
  EXPECT_NEAR(student_t_p_value(4, 1e6) / std::erfc(4 / std::numbers::sqrt2), 1, 1e-4);
}

TEST(students, p_is_one_for_no_difference_and_zero_for_one_without_any_error) {
  EXPECT_EQ(student_t_p_value(0, 3.5), 1);
  EXPECT_EQ(student_t_p_value(HUGE_VAL, 3.5), 0);
}

TEST(students, p_falls_with_the_distance_and_with_freedom) {
  for (const double degrees_of_freedom : {1.0, 1.3, 4.0, 8.7, 100.0}) {
    for (double t = 0.1; t < 40; t *= 1.5) {
      EXPECT_GT(student_t_p_value(t, degrees_of_freedom),
                student_t_p_value(t * 1.5, degrees_of_freedom))
          << t << ' ' << degrees_of_freedom;
      EXPECT_GT(student_t_p_value(t, degrees_of_freedom),
                student_t_p_value(t, degrees_of_freedom + 0.5))
          << t << ' ' << degrees_of_freedom;
    }
  }
}

TEST(students, quantiles_are_in_every_table) {
  const std::map<double, double> table{
      {1, 12.706}, {2, 4.303}, {4, 2.776}, {9, 2.262}, {30, 2.042}};
  for (const auto& [degrees_of_freedom, t] : table)
    EXPECT_NEAR(student_t_quantile(degrees_of_freedom), t, 5e-4);
  EXPECT_NEAR(student_t_quantile(4, 0.99), 4.604, 5e-4);
}

TEST(mean_interval, is_students_within_the_range) {
  const interval wide = mean_interval({9, 10, 11, 10, 10});  // deviates by sqrt(1 / 2)
  EXPECT_NEAR(wide.low, 10 - 2.776 * std::sqrt(0.1), 1e-3);
  EXPECT_NEAR(wide.high, 10 + 2.776 * std::sqrt(0.1), 1e-3);
  const interval skewed = mean_interval({1, 1, 1, 1, 6});
  EXPECT_EQ(skewed.low, 1) << "no value is less";
  EXPECT_LT(skewed.high, 6);
  const interval few = mean_interval({4, 1, 2, 3});
  EXPECT_EQ(few.low, 1);
  EXPECT_EQ(few.high, 4);
}

TEST(holm, multiplies_by_the_number_of_tests_that_are_left) {
  // The least of four times 4, the next one times 3; what is after a larger one is no less.
  const std::vector<double> adjusted = holm({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(adjusted.at(i), expected[i]);
  EXPECT_EQ(holm({0.7, 0.6}).front(), 1);
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace base_stats_test
}  // namespace layerbench::stats
