// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/comparison.hpp>

#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_pairs_test {

using result::results;
using testing::file_with;
using testing::net;
using testing::rounds;
using ::testing::SizeIs;

/// Runs with the numbers from 0 on, each with these rounds.
timing runs_of(const std::vector<std::vector<double>>& runs) {
  timing result{};
  for (const auto& item : runs) {
    timing run{.rounds = {}, .runs = {result.runs.size()}};
    for (const double seconds : item) {
      run.rounds[{0, static_cast<std::int64_t>(run.rounds.size())}] = seconds;
    }
    result.append(run);
  }
  return result;
}

/// Runs of three equal rounds.
timing steady_runs(const std::vector<double>& seconds) {
  std::vector<std::vector<double>> runs;
  for (const double second : seconds) runs.push_back({second, second, second});
  return runs_of(runs);
}

time_ratio pairs_of(const timing& old, const timing& now) {
  const term before{1, &old};
  const term after{1, &now};
  return compared_pairs({&before, 1}, {&after, 1}).ratio;
}

TEST(Pairs, HaveStudentsIntervalOfTheLogarithmsOfTheirRatios) {
  const std::vector<double> logs{0.01, 0.02, 0.03, 0.04, 0.05};
  const std::vector<double> drift{1, 1.2, 0.8, 1.5, 0.9};
  std::vector<double> later;
  for (std::size_t i = 0; i < logs.size(); ++i) later.push_back(drift[i] * std::exp(logs[i]));
  const time_ratio r = pairs_of(steady_runs(drift), steady_runs(later));
  // Standard deviation 0.01581, of the mean 0.007071; 4 degrees of freedom.
  EXPECT_NEAR(r.value(), std::exp(0.03), 1e-12);
  EXPECT_NEAR(r.low, std::exp(0.03 - 2.776 * 0.007071), 1e-5);
  EXPECT_NEAR(r.high, std::exp(0.03 + 2.776 * 0.007071), 1e-5);
  EXPECT_NEAR(r.p.value(), 0.0132, 2e-4);
  EXPECT_NEAR(r.old_seconds, std::pow(1.2 * 0.8 * 1.5 * 0.9, 1. / 5), 1e-12);
  EXPECT_EQ(r.old_rounds, 5);
  EXPECT_EQ(r.new_rounds, 5);
}

TEST(Pairs, CancelDriftThatBothSidesShare) {
  const std::vector<double> drift{1, 1.2, 0.8, 1.5, 0.9};
  std::vector<double> later;
  for (const double value : drift) later.push_back(1.03 * value);
  const timing old = steady_runs(drift);
  const timing now = steady_runs(later);
  const time_ratio paired = pairs_of(old, now);
  EXPECT_NEAR(paired.low, 1.03, 1e-9);
  EXPECT_NEAR(paired.high, 1.03, 1e-9);
  EXPECT_LT(paired.p.value(), 1e-9);
  const term before{1, &old};
  const term after{1, &now};
  EXPECT_GT(ratio_of({&before, 1}, {&after, 1}).p.value(), 0.5);
}

TEST(Pairs, OfEqualRunsAreTheSame) {
  const timing same = steady_runs({3, 1, 2, 5, 4});
  EXPECT_EQ(pairs_of(same, same).low, 1);
  EXPECT_EQ(pairs_of(same, same).high, 1);
  EXPECT_EQ(pairs_of(same, same).p.value(), 1);
}

TEST(Pairs, ThatAreTwoHaveNoP) {
  const time_ratio r = pairs_of(steady_runs({1, 2}), steady_runs({1.1, 2.6}));
  EXPECT_FALSE(r.p);
  EXPECT_NEAR(r.low, 1.1, 1e-12);
  EXPECT_NEAR(r.high, 1.3, 1e-12);
  EXPECT_EQ(r.old_rounds, 2);
}

TEST(Pairs, HaveNoIntervalWhereThereIsOne) {
  const time_ratio one = pairs_of(steady_runs({1}), steady_runs({1.1}));
  EXPECT_FALSE(one.has_interval());
  EXPECT_NEAR(one.value(), 1.1, 1e-12);
  EXPECT_TRUE(pairs_of(steady_runs({1, 2}), steady_runs({1.1, 2.6})).has_interval());
  EXPECT_TRUE(pairs_of(steady_runs({1, 2}), steady_runs({1.5, 3})).has_interval())
      << "it is a point";
}

TEST(Pairs, DecideAPlainCaseWithThree) {
  const time_ratio r = pairs_of(steady_runs({1, 1.2, 0.8}), steady_runs({0.348, 0.43, 0.297}));
  EXPECT_LT(r.p.value(), significance);
  EXPECT_LT(r.high, 0.5);
  EXPECT_GT(pairs_of(steady_runs({1, 1, 1}), steady_runs({0.7, 0.7, 0.7})).p.value(), significance)
      << "three may be disturbed alike by chance";
}

TEST(Pairs, LeaveOutRunsOfOneSide) {
  timing now = steady_runs({2, 2, 2, 2, 2, 2});
  std::erase_if(now.rounds, [](const auto& item) { return item.first.first == 5; });
  const time_ratio r = pairs_of(steady_runs({1, 1, 1, 1, 1, 100}), now);
  EXPECT_NEAR(r.value(), 2, 1e-12);
  EXPECT_EQ(r.old_rounds, 5);
}

TEST(Pairs, HaveNoVerdictWhereThereAreNone) {
  timing now = steady_runs({3, 3});
  std::erase_if(now.rounds, [](const auto& element) { return element.first.first == 0; });
  timing old = steady_runs({2, 2});
  std::erase_if(old.rounds, [](const auto& item) { return item.first.first == 1; });
  const time_ratio r = pairs_of(old, now);
  EXPECT_NEAR(r.value(), 1.5, 1e-12);
  EXPECT_FALSE(r.p);
  EXPECT_EQ(r.new_rounds, 0);
}

TEST(Pairs, CountTheRoundsOfARunAsPredictionsDo) {
  timing shaken = runs_of({{1, 1, 1, 9, 9}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 40}});
  shaken.disturbed = {{0, 3}, {0, 4}};
  const time_ratio r = pairs_of(steady_runs({1, 2}), shaken);
  EXPECT_NEAR(r.low, 1, 1e-12);
  EXPECT_NEAR(r.high, 1, 1e-12);
}

TEST(Pairs, AddUpSums) {
  const timing old = steady_runs({1, 2, 3, 4, 5});
  const timing now = steady_runs({3, 6, 9, 12, 15});
  const std::vector<term> before{{2, &old}, {1, &old}};
  const std::vector<term> after{{2, &old}, {1, &now}};
  const time_ratio r = compared_pairs(before, after).ratio;
  EXPECT_NEAR(r.low, 5. / 3, 1e-9);
  EXPECT_NEAR(r.high, 5. / 3, 1e-9);
}

/// What 1000 simulated comparisons say of a true ratio.
struct words {
  double held = 0;   ///< share of intervals that hold it
  double alarm = 0;  ///< share of p below 1 %
};

/// Pairs drift by 20 %, their runs vary by `noise`, and one run in `1 / disturbed` takes half as
/// long again, as where another program uses the processors.
words simulate(std::size_t pairs, double noise, double true_value, double disturbed = 0) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution is_disturbed(disturbed);
  const auto run = [&] {
    return std::exp(noise * normal(random)) * (is_disturbed(random) ? 1.5 : 1);
  };
  constexpr int trials = 1000;
  words sum;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> old;
    std::vector<double> now;
    for (std::size_t n = 0; n < pairs; ++n) {
      const double drift = std::exp(0.2 * normal(random));
      old.push_back(drift * run());
      now.push_back(drift * true_value * run());
    }
    const time_ratio found = pairs_of(steady_runs(old), steady_runs(now));
    if (found.low <= true_value && true_value <= found.high) sum.held += 1. / trials;
    if (found.p.value() < 0.01) sum.alarm += 1. / trials;
  }
  return sum;
}

TEST(Pairs, HaveAnIntervalThatCoversTheTrueValue) {
  for (const std::size_t pairs : {5U, 8U, 20U}) {
    for (const double noise : {0.002, 0.01, 0.1}) {
      EXPECT_NEAR(simulate(pairs, noise, 1.25).held, 0.95, 0.02) << pairs << " " << noise;
      EXPECT_NEAR(simulate(pairs, noise, 1).alarm, 0.01, 0.01) << pairs << " " << noise;
    }
  }
}

TEST(Pairs, RaiseNoMoreFalseAlarmsWhereRunsAreDisturbed) {
  for (const std::size_t pairs : {3U, 4U, 5U, 8U}) {
    for (const double disturbed : {0.05, 0.2, 0.5}) {
      EXPECT_LE(simulate(pairs, 0.01, 1, disturbed).alarm, 0.015) << pairs << " " << disturbed;
    }
  }
}

TEST(Pairs, FindASmallChangeUnderALargeDrift) {
  EXPECT_GE(simulate(5, 0.002, 1.03).alarm, 0.99);
  EXPECT_GE(simulate(10, 0.005, 1.03).alarm, 0.99);
}

/// Files of a machine that drifts by 20 % from pair to pair; layer a is `slower` on the new side.
std::vector<results> files(std::size_t pairs, double slower, unsigned seed) {
  std::mt19937 shared(1);
  std::mt19937 own(seed);
  std::normal_distribution<double> normal;
  std::vector<results> all;
  for (std::size_t n = 0; n < pairs; ++n) {
    const double drift = std::exp(0.2 * normal(shared));
    normal.reset();
    const auto timed = [&](double seconds) {
      std::vector<double> result;
      for (int round = 0; round < 7; ++round) {
        result.push_back(seconds * drift * std::exp(0.003 * normal(own)));
      }
      normal.reset();
      return result;
    };
    all.push_back(
        file_with({rounds(net, "a", "k:1", timed(1 * slower)), rounds(net, "b", "k:2", timed(1))}));
  }
  return all;
}

comparison paired(std::size_t pairs, double slower) {
  comparison_options chosen;
  chosen.paired = true;
  return compare(files(pairs, 1, 2), files(pairs, slower, 3), chosen);
}

TEST(PairedCompare, FindsAChangeUnderDrift) {
  const comparison all = paired(6, 1.05);
  EXPECT_TRUE(all.paired);
  ASSERT_THAT(all.layers, SizeIs(2));
  EXPECT_EQ(all.layers[0].verdict, verdict::slower);
  EXPECT_NEAR(all.layers[0].ratio.value(), 1.05, 0.005);
  EXPECT_EQ(all.layers[1].verdict, verdict::same);
  ASSERT_THAT(all.models, SizeIs(1));
  EXPECT_EQ(all.models[0].verdict, verdict::slower);
  EXPECT_NEAR(all.models[0].ratio.value(), 3.1 / 3, 0.005) << "a counts twice";
  EXPECT_EQ(all.models[0].ratio.new_rounds, 6);
  ASSERT_THAT(all.models[0].top_contributors, SizeIs(1));
  const contributor& a = all.models[0].top_contributors[0];
  EXPECT_NEAR(a.new_seconds / a.old_seconds, all.layers[0].ratio.value(), 1e-9)
      << "the contributors have the table's times";
  const comparison apart = compare(files(6, 1, 2), files(6, 1.05, 3));
  EXPECT_EQ(apart.layers[0].verdict, verdict::unclear);
}

TEST(PairedCompare, OfEqualRunsIsTheSame) {
  const comparison all = paired(6, 1);
  for (const compared_layer& layer : all.layers) EXPECT_EQ(layer.verdict, verdict::same);
  EXPECT_EQ(all.models.at(0).verdict, verdict::same);
}

TEST(PairedCompare, IsUnclearForTwoPairs) {
  const comparison all = paired(2, 1.05);
  for (const compared_layer& layer : all.layers) EXPECT_EQ(layer.verdict, verdict::unclear);
  EXPECT_EQ(all.models.at(0).verdict, verdict::unclear);
}

TEST(PairedCompare, RefusesAFileWithoutAPair) {
  comparison_options chosen;
  chosen.paired = true;
  EXPECT_THROW(static_cast<void>(compare(files(2, 1, 2), files(3, 1, 3), chosen)), usage_error);
}

}  // namespace analysis_pairs_test
}  // namespace layerbench::analysis
