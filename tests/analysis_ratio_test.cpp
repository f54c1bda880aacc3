// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/compare/verdict.hpp>

namespace layerbench::analysis {
namespace analysis_ratio_test {

/// Rounds of one run.
timing one_run(const std::vector<double>& seconds) {
  timing result{.rounds = {}, .runs = {0}};
  for (const double second : seconds) {
    result.rounds[{0, static_cast<std::int64_t>(result.rounds.size())}] = second;
  }
  return result;
}

/// Several runs with as many rounds each.
timing some_runs(const std::vector<std::vector<double>>& runs) {
  timing result{};
  for (const auto& item : runs) {
    timing run = one_run(item);
    run.runs = {result.runs.size()};
    result.append(run);
  }
  return result;
}

time_ratio ratio_of(const timing& old, const timing& now) {
  const term before{1, &old};
  const term after{1, &now};
  return analysis::ratio_of({&before, 1}, {&after, 1});
}

std::vector<term> terms_of(const std::vector<timing>& layers) {
  std::vector<term> terms;
  for (const timing& layer : layers) terms.push_back({2, &layer});
  return terms;
}

const std::vector<double> about_100{99, 101, 100, 98, 102};

TEST(Ratio, IsOfTheNewTimeByTheOldOne) {
  const time_ratio r = ratio_of(one_run({2, 2, 2, 2, 2}), one_run({3, 3, 3, 3, 3, 3}));
  EXPECT_DOUBLE_EQ(r.value(), 1.5);
  EXPECT_EQ(r.old_seconds, 2);
  EXPECT_EQ(r.new_seconds, 3);
  EXPECT_EQ(r.old_rounds, 5);
  EXPECT_EQ(r.new_rounds, 6);
}

TEST(Ratio, HasWelchsIntervalOfItsLogarithm) {
  // Standard deviation 1.581, of the mean 0.7071 %; both sides: 1 %, with 8 degrees of freedom.
  const time_ratio r = ratio_of(one_run(about_100), one_run(about_100));
  EXPECT_NEAR(r.high, std::exp(2.306 * 0.01), 1e-5);
  EXPECT_NEAR(r.low, std::exp(-2.306 * 0.01), 1e-5);
  EXPECT_EQ(r.p.value(), 1);
  // A side that does not vary: 4 degrees of freedom are left.
  const time_ratio still = ratio_of(one_run({100, 100, 100, 100, 100, 100}), one_run(about_100));
  EXPECT_NEAR(still.high, std::exp(2.776 * 0.007071), 1e-5);
}

TEST(Ratio, IsExactWhereNothingVaries) {
  const timing same = one_run({3, 3, 3, 3, 3});
  EXPECT_EQ(ratio_of(same, same).low, 1);
  EXPECT_EQ(ratio_of(same, same).high, 1);
  EXPECT_EQ(ratio_of(same, same).p.value(), 1);
  EXPECT_EQ(ratio_of(same, one_run({4, 4, 4, 4, 4})).p.value(), 0);
}

TEST(Ratio, OfFewRoundsIsBetweenThemAndHasNoP) {
  const time_ratio r = ratio_of(one_run({1, 2, 4}), one_run({6, 6, 8, 8, 8, 8}));
  EXPECT_DOUBLE_EQ(r.value(), 22. / 3 / 2);
  EXPECT_FALSE(r.p);
  EXPECT_GE(r.low, 6 / 4.);
  EXPECT_LE(r.low, r.value() / 2);
  EXPECT_GE(r.high, r.value() * 2);
  EXPECT_LE(r.high, 8 / 1.);
  const time_ratio single = ratio_of(one_run({1}), one_run({3}));
  EXPECT_EQ(single.low, 3);
  EXPECT_EQ(single.high, 3);
}

TEST(Ratio, UsesUndisturbedRoundsWithoutOutliers) {
  timing shaken = one_run({99, 101, 100, 98, 102, 500, 500, 500});
  shaken.disturbed = {{0, 5}, {0, 6}, {0, 7}};
  const time_ratio r = ratio_of(one_run(about_100), shaken);
  EXPECT_DOUBLE_EQ(r.value(), 1);
  EXPECT_EQ(r.new_rounds, 5);
  EXPECT_LT(r.high, 1.03);
}

TEST(Ratio, IncludesTheVariationBetweenRuns) {
  const timing steady = some_runs({{100, 101, 100, 101, 100}, {110, 111, 110, 111, 110}});
  const timing slower = some_runs({{105, 106, 105, 106, 105}, {115, 116, 115, 116, 115}});
  const time_ratio r = ratio_of(steady, slower);
  // Runs deviate by 5 of 105 and of 110: Student's with 2 degrees of freedom.
  const double squares = 2 * (std::pow(5 / 105.4, 2) + std::pow(5 / 110.4, 2));
  EXPECT_NEAR(r.high / r.value(), std::exp(4.303 * std::sqrt(squares / 2)), 1e-3);
  EXPECT_GT(r.p.value(), 0.3);
  // The same rounds as one run a side would be sure.
  timing first = steady;
  timing second = slower;
  first.runs = second.runs = {0, 0};
  EXPECT_LT(ratio_of(first, second).high, r.high);
}

TEST(Ratio, ComparesOneRunWithSeveral) {
  const timing before =
      some_runs({{100, 100, 100, 101, 101}, {104, 104, 104, 104, 105}, {96, 96, 96, 97, 97}});
  const time_ratio near = ratio_of(before, one_run({104, 104, 104, 104, 104.5}));
  EXPECT_LT(near.low, 1);
  EXPECT_GT(near.p.value(), 0.2) << "runs differ by as much";
  EXPECT_GT(ratio_of(before, one_run({140, 140, 140, 140, 141})).low, 1);
}

TEST(Ratio, OfASumIncludesDriftThatLayersShare) {
  // Two layers that drift together, and two whose noise cancels.
  const std::vector<timing> together{one_run(about_100), one_run(about_100)};
  const std::vector<timing> apart{one_run(about_100), one_run({101, 99, 100, 102, 98})};
  const auto width = [](const std::vector<timing>& layers) {
    const time_ratio r = analysis::ratio_of(terms_of(layers), terms_of(layers));
    return r.high - r.low;
  };
  EXPECT_NEAR(width(together), 2 * 2.306 * 0.01, 1e-4);
  EXPECT_NEAR(width(apart), 0, 1e-12);
}

TEST(Ratio, WeighsTheRoundsOfLayersByTheirTimes) {
  timing small = one_run({1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  for (std::int64_t round = 3; round < 10; ++round) small.disturbed.insert({0, round});
  const timing large = one_run({99, 101, 100, 98, 102, 99, 101, 100, 98, 102});
  const std::vector<timing> layers{large, small};
  EXPECT_EQ(analysis::ratio_of(terms_of(layers), terms_of(layers)).old_rounds, 9);
  const std::vector<timing> alone{small};
  EXPECT_EQ(analysis::ratio_of(terms_of(alone), terms_of(alone)).old_rounds, 3);
}

/// Share of 1000 pairs whose interval holds the true ratio. Rounds vary by `noise`, runs by
/// `drift`.
double coverage(std::size_t runs, std::size_t rounds, double noise, double drift) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  const auto measure = [&](double seconds) {
    std::vector<std::vector<double>> all(runs);
    for (auto& run : all) {
      const double own = seconds * std::exp(drift * normal(random));
      for (std::size_t i = 0; i < rounds; ++i)
        run.push_back(own * std::exp(noise * normal(random)));
    }
    return some_runs(all);
  };
  constexpr int trials = 1000;
  constexpr double true_value = 1.25;
  int held = 0;
  for (int i = 0; i < trials; ++i) {
    const timing old = measure(4);
    const time_ratio found = ratio_of(old, measure(4 * true_value));
    if (found.low <= true_value && true_value <= found.high) ++held;
  }
  return static_cast<double>(held) / trials;
}

TEST(Ratio, HasAnIntervalThatCoversTheTrueValue) {
  EXPECT_GE(coverage(1, 5, 0.03, 0), 0.93);
  EXPECT_GE(coverage(1, 20, 0.1, 0), 0.93);
  EXPECT_GE(coverage(2, 5, 0.01, 0.03), 0.93);
  EXPECT_GE(coverage(5, 5, 0.03, 0.03), 0.93);
  EXPECT_LE(coverage(1, 10, 0.01, 0.03), 0.5) << "one run does not show how runs vary";
}

/// The verdicts of ratios with these intervals, all with this `p`.
std::vector<verdict> verdicts(const std::vector<time_ratio>& ratios, double margin = 0.02) {
  std::vector<compared> all;
  for (const time_ratio& ratio : ratios) all.push_back({ratio});
  set_verdicts(all, margin);
  std::vector<verdict> words;
  for (const compared& item : all) words.push_back(item.verdict);
  return words;
}

time_ratio between(double low, double high, std::optional<double> p) {
  return {1, std::sqrt(low * high), 9, 9, low, high, p};
}

TEST(Verdict, FollowsFromIntervalAndMargin) {
  using enum verdict;
  EXPECT_THAT(verdicts({between(0.99, 1.015, 0.8), between(1.03, 1.08, 1e-6),
                        between(0.9, 0.95, 1e-6), between(0.9, 1.2, 0.6)}),
              ::testing::ElementsAre(same, slower, faster, unclear));
  EXPECT_THAT(verdicts({between(1.01, 1.015, 1e-9)}), ::testing::ElementsAre(same))
      << "surely slower, and surely by less than the margin";
  EXPECT_THAT(verdicts({between(1.01, 1.015, 1e-9)}, 0.005), ::testing::ElementsAre(slower));
  EXPECT_THAT(verdicts({between(1 / 1.02, 1.02, 1)}), ::testing::ElementsAre(same));
}

TEST(Verdict, IsUnclearForFewRounds) {
  EXPECT_THAT(verdicts({between(1.5, 1.6, {}), between(0.999, 1.001, {})}),
              ::testing::Each(verdict::unclear));
}

TEST(Verdict, IsCorrectedForTheNumberOfComparisons) {
  const time_ratio probably = between(1.02, 1.08, 2e-3);
  EXPECT_THAT(verdicts({probably}), ::testing::ElementsAre(verdict::slower));
  EXPECT_THAT(verdicts(std::vector<time_ratio>(30, probably)), ::testing::Each(verdict::unclear));
}

}  // namespace analysis_ratio_test
}  // namespace layerbench::analysis
