// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/pair_verdicts.hpp>
#include <layerbench/analysis/compare/sign_flip_test.hpp>

#include "support/recorded_processes.hpp"

// Verdicts on pairs that are looked at several times, on simulated machines and on recorded runs.

namespace layerbench::analysis {
namespace analysis_pair_verdicts_test {

using ::testing::ElementsAre;

using testing::recorded;
using testing::replayed;
using testing::row_of;
using testing::values;

std::vector<std::size_t> pairs_of(const std::vector<look>& looks) {
  std::vector<std::size_t> all;
  for (const look& one : looks) all.push_back(one.pairs);
  return all;
}

TEST(Looks, BeginAtTwelvePairs) {
  EXPECT_THAT(pairs_of(looks_until(5)), ElementsAre(5));
  EXPECT_THAT(pairs_of(looks_until(12)), ElementsAre(12));
  EXPECT_THAT(pairs_of(looks_until(30)), ElementsAre(12, 16, 21, 30));
  double sum = 0;
  for (const look& one : looks_until(100)) sum += one.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(looks_until(43).front().pairs, 12);
  EXPECT_EQ(looks_until(44).front().pairs, 16) << "12 pairs cannot reach a sixth of the level";
}

TEST(SignFlipTest, CountTheExchangesThatAreAsFarOff) {
  // Of 512 exchanges none other gives ten equal signs.
  const log_ratios up(10, 0.01);
  log_ratios mixed(10, 0.01);
  for (std::size_t i = 0; i < 5; ++i) mixed[i] = -0.01;
  const std::vector<const log_ratios*> rows{&up, &mixed};
  // The exchange of the five pairs makes the second row as far off as the first.
  EXPECT_THAT(sign_flip_test(rows, 10, significance).p(), ElementsAre(2. / 512, 1));
  const std::vector<const log_ratios*> alone{&up};
  EXPECT_THAT(sign_flip_test(alone, 10, significance).p(), ElementsAre(1. / 512));
}

TEST(SignFlipTest, HaveNoOpinionOnRowsWithFewPairs) {
  log_ratios few(12, std::nullopt);
  for (std::size_t i = 0; i < 9; ++i) few[i] = 0.5;
  const std::vector<const log_ratios*> rows{&few};
  EXPECT_THAT(sign_flip_test(rows, 12, significance).p(), ElementsAre(1));
}

/// A number that a process takes on at random.
using draw = std::function<double(std::mt19937&)>;

/// Rows of pairs; the first row is `slower` on the new side.
std::vector<compared> simulated(std::mt19937& random, std::size_t rows, std::size_t pairs,
                                const draw& seconds, double slower = 1) {
  std::vector<compared> all;
  for (std::size_t row = 0; row < rows; ++row) {
    values old;
    values now;
    for (std::size_t i = 0; i < pairs; ++i) {
      old.push_back(seconds(random));
      now.push_back(seconds(random) * (row == 0 ? slower : 1));
    }
    all.push_back(row_of(old, now));
  }
  return all;
}

draw normal_process(double deviation) {
  return [=](std::mt19937& random) {
    return std::exp(std::normal_distribution<double>(0, deviation)(random));
  };
}

TEST(PairVerdicts, RaiseFewFalseAlarmsWhereRowsHaveTwoSpeeds) {
  // As by the addresses of buffers: each row of a process is in one of two states.
  const draw two_speeds = [](std::mt19937& random) {
    return 1 + 0.1 * static_cast<double>(random() % 2) +
           0.0001 * static_cast<double>(random() % 10);
  };
  std::mt19937 random(1);
  constexpr int trials = 200;
  int alarms = 0;
  for (int i = 0; i < trials; ++i) {
    std::vector<compared> rows = simulated(random, 40, 10, two_speeds);
    static_cast<void>(set_pair_verdicts({10, 0, 0.02}, rows));
    alarms += std::ranges::any_of(rows, &compared::changed) ? 1 : 0;
  }
  EXPECT_LE(alarms, 5);
}

/// The share of comparisons that find the change which one of them says 9 of 10 find.
double share_found(std::size_t pairs, std::size_t most, double deviation) {
  std::mt19937 random(3);
  constexpr int trials = 300;
  const pair_plan plan{pairs, most, 0.001};
  std::vector<double> detectable;
  for (int i = 0; i < 30; ++i) {
    std::vector<compared> rows = simulated(random, 8, pairs, normal_process(deviation));
    static_cast<void>(set_pair_verdicts(plan, rows));
    detectable.push_back(rows.front().detectable.value());
  }
  int found = 0;
  for (int i = 0; i < trials; ++i) {
    std::vector<compared> rows =
        simulated(random, 8, pairs, normal_process(deviation), 1 + stats::mean(detectable));
    static_cast<void>(set_pair_verdicts(plan, rows));
    found += rows.front().verdict == verdict::slower ? 1 : 0;
  }
  return static_cast<double>(found) / trials;
}

TEST(PairVerdicts, FindTheChangeThatTheyAreSaidToFind) {
  for (const std::size_t pairs : {5U, 12U, 20U}) {
    EXPECT_NEAR(share_found(pairs, 0, 0.01), 0.9, 0.06) << pairs;
  }
  EXPECT_NEAR(share_found(30, 30, 0.01), 0.93, 0.06) << "earlier looks may find it, too";
}

TEST(PairVerdicts, DoNotCallSmallChangesFound) {
  std::mt19937 random(1);
  std::vector<compared> rows = simulated(random, 3, 12, normal_process(0.0001), 1.015);
  EXPECT_TRUE(set_pair_verdicts({12, 0, 0.02}, rows));
  EXPECT_EQ(rows.front().verdict, verdict::same);
  EXPECT_NEAR(rows.front().detectable.value(), 0.02, 0.0005) << "the margin is what it takes";
}

TEST(PairVerdicts, FindAFactorOfTwoAtEveryLook) {
  for (const std::size_t most : {30U, 200U, 1000U}) {
    for (const look& at : looks_until(most)) {
      std::mt19937 random(1);
      std::vector<compared> rows = simulated(random, 3, at.pairs, normal_process(0.01), 2);
      std::vector<compared> sum{rows.front()};
      static_cast<void>(set_pair_verdicts({at.pairs, most, 0.02}, rows, sum));
      EXPECT_EQ(rows.front().verdict, verdict::slower) << at.pairs << " of " << most;
      EXPECT_EQ(sum.front().verdict, verdict::slower) << at.pairs << " of " << most;
      EXPECT_TRUE(rows.front().detectable) << at.pairs << " of " << most;
    }
  }
}

TEST(PairVerdicts, PromiseNothingOfRowsWithFewPairs) {
  std::mt19937 random(1);
  std::vector<compared> rows = simulated(random, 1, 12, normal_process(0.01));
  rows.push_back(simulated(random, 1, 9, normal_process(0.01), 2).front());
  static_cast<void>(set_pair_verdicts({12, 0, 0.02}, rows));
  EXPECT_TRUE(rows[0].detectable);
  EXPECT_FALSE(rows[1].detectable);
  EXPECT_EQ(rows[1].verdict, verdict::unclear);
}

TEST(PairVerdicts, AreSureOfPlainCasesOnly) {
  std::mt19937 random(1);
  std::vector<compared> plain = simulated(random, 3, 12, normal_process(0.002), 1.1);
  EXPECT_TRUE(set_pair_verdicts({12, 30, 0.02}, plain));
  EXPECT_EQ(plain.front().verdict, verdict::slower);
  std::vector<compared> noisy = simulated(random, 3, 12, normal_process(0.2));
  EXPECT_FALSE(set_pair_verdicts({12, 30, 0.02}, noisy));
  std::vector<compared> close = simulated(random, 1, 12, normal_process(0.02));
  const bool sure = set_pair_verdicts({12, 0, 0.026}, close);
  std::vector<compared> looked = close;
  EXPECT_LE(set_pair_verdicts({12, 30, 0.026}, looked), sure) << "a first look needs more";
}

TEST(PairVerdicts, AreUnclearWhileTheIntervalHoldsOne) {
  values old(12, 1);
  values now(12, 1.03);
  now.back() = 2;
  std::vector<compared> one{row_of(old, now)};
  EXPECT_FALSE(set_pair_verdicts({12, 30, 0.02}, one));
  EXPECT_LT(one[0].ratio.low, 1);
  EXPECT_EQ(one[0].verdict, verdict::unclear);
}

TEST(PairVerdicts, ShareTheFalseAlarmsOfListsAndLooks) {
  std::mt19937 random(1);
  std::vector<compared> rows = simulated(random, 3, 16, normal_process(0.01), 1.01);
  std::vector<compared> sum{rows.front()};
  static_cast<void>(set_pair_verdicts({16, 0, 0.001}, sum));
  const double alone = sum.front().p;
  static_cast<void>(set_pair_verdicts({16, 0, 0.001}, rows, sum));
  EXPECT_NEAR(sum.front().p, 2 * alone, 1e-12);
  static_cast<void>(set_pair_verdicts({16, 30, 0.001}, sum));
  EXPECT_GT(sum.front().p, 2 * alone) << "an early look has a small share";
}

TEST(PairVerdicts, RaiseOneFalseAlarmAtMostInTwoHundredRecordedSelfComparisons) {
  std::mt19937 random(11);
  int alarms = 0;
  for (int i = 0; i < 200; ++i) {
    const std::size_t first = random() % recorded().size();
    auto [rows, sum] = replayed(random, first, 21);
    static_cast<void>(set_pair_verdicts({21, 21, 0.02}, rows, sum));
    alarms += std::ranges::any_of(rows, &compared::changed) || sum.front().changed() ? 1 : 0;
  }
  EXPECT_LE(alarms, 1);
}

}  // namespace analysis_pair_verdicts_test
}  // namespace layerbench::analysis
