// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/analysis/compare/change_points.hpp>
#include <layerbench/result/read_results.hpp>

namespace layerbench::analysis {
namespace analysis_change_points_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

constexpr double margin = 0.02;

/// Times of 1 ms that vary by 1 % from run to run, and are slower in runs [first, end).
struct slower {
  std::size_t first;
  std::size_t end;
  double by;
};

std::vector<timed_sum> series(std::size_t runs, const std::vector<slower>& changes,
                              unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.01);
  std::vector<timed_sum> times(runs);
  for (std::size_t i = 0; i < runs; ++i) {
    times[i].seconds = 1e-3 * std::exp(normal(random));
    for (const slower& change : changes) {
      if (i >= change.first && i < change.end) times[i].seconds *= 1 + change.by;
    }
  }
  return times;
}

std::vector<std::size_t> firsts(std::span<const timed_sum> times, std::size_t tests = 1) {
  std::vector<std::size_t> found;
  for (const change_point& one : change_points(times, tests, margin)) found.push_back(one.first);
  return found;
}

TEST(ChangePoints, NameTheFirstTimeAfterAChangeAndItsSize) {
  const std::vector<change_point> found = change_points(series(40, {{16, 40, 0.1}}), 50, margin);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].first, 16);
  EXPECT_EQ(found[0].verdict, verdict::slower);
  EXPECT_EQ(found[0].ratio.old_rounds, 16);
  EXPECT_EQ(found[0].ratio.new_rounds, 24);
  EXPECT_NEAR(found[0].ratio.value(), 1.1, 0.01);
  EXPECT_NEAR(found[0].ratio.old_seconds, 1e-3, 1e-5);
  EXPECT_LT(found[0].ratio.low, 1.1);
  EXPECT_GT(found[0].ratio.high, 1.1);
  EXPECT_THAT(found[0].p, Lt(significance));
  EXPECT_EQ(change_points(series(40, {{16, 40, -0.1}}), 50, margin).at(0).verdict, verdict::faster);
}

TEST(ChangePoints, NameAChangeAndItsEnd) {
  EXPECT_THAT(firsts(series(40, {{16, 22, 0.1}})), ElementsAre(16, 22));
  EXPECT_THAT(firsts(series(60, {{10, 60, 0.1}, {30, 60, 0.1}, {50, 60, -0.2}})),
              ElementsAre(10, 30, 50));
}

TEST(ChangePoints, AreNotOfThreeTimesInARow) {
  EXPECT_THAT(firsts(series(40, {{20, 23, 0.5}}), 50), IsEmpty());
  EXPECT_THAT(firsts(series(40, {{37, 40, 0.5}}), 50), IsEmpty());
  EXPECT_THAT(firsts(series(40, {{36, 40, 0.5}}), 50), ElementsAre(36));
  EXPECT_THAT(firsts(series(40, {{4, 40, 0.5}}), 50), ElementsAre(4));
}

TEST(ChangePoints, AreFoundAmongDisturbedTimes) {
  EXPECT_THAT(firsts(series(40, {{16, 40, 0.1}, {5, 6, 1}, {22, 24, 1}, {33, 34, 1}}), 50),
              ElementsAre(16));
}

TEST(ChangePoints, NeedEnoughTimes) {
  EXPECT_THAT(firsts(series(min_history - 1, {{3, 8, 1}})), IsEmpty());
  EXPECT_THAT(firsts(series(min_history, {{4, 8, 1}})), ElementsAre(4));
  EXPECT_THAT(change_points({}, 1, margin), IsEmpty());
}

TEST(ChangePoints, AreNotWithinTheMargin) {
  const std::vector<timed_sum> times = series(200, {{100, 200, 0.015}});
  EXPECT_THAT(change_points(times, 1, margin), IsEmpty());
  EXPECT_THAT(change_points(times, 1, 0), SizeIs(1));
}

TEST(ChangePoints, AreNotWhatTheRoundsOfTheTimesContradict) {
  std::vector<timed_sum> times = series(40, {{16, 40, 0.1}});
  for (timed_sum& time : times) {
    time.rounds = 6;
    time.variance = 1e-4;
  }
  EXPECT_THAT(firsts(times, 50), ElementsAre(16));
  for (timed_sum& time : times) time.variance = 0.04;
  EXPECT_THAT(firsts(times, 50), IsEmpty());
}

/// The rows of ResNet-50 of the quickstart's file, and histories with their noise: each run draws
/// whole rounds of the recorded ones.
class recorded_noise {
 public:
  recorded_noise() {
    const result::results file =
        result::read(LAYERBENCH_SOURCE_DIR "/results/quickstart_2cpu_zen4.json");
    timings measured;
    measured.add(file);
    std::set<std::string> seen;
    for (const result::measurement& row : file.rows) {
      if (row.name.model_case.model != "resnet50" || row.name.cache != "model") continue;
      if (!seen.insert(result::identity(row)).second) continue;
      rows_.push_back(*measured.find(result::identity(row), row.name.model_case));
      step_.push_back(rows_.back().seconds() * row.counters.at("count"));
    }
  }

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

  /// The rows that take at least a twentieth of the step.
  [[nodiscard]] std::vector<std::size_t> large_rows() const {
    double step = 0;
    for (const double seconds : step_) step += seconds;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < rows(); ++i) {
      if (step_[i] >= step / 20) found.push_back(i);
    }
    return found;
  }

  /// The changes of a row in a history of 40 runs, which is slower by 3 % from run 16 on if
  /// `slower`.
  std::vector<std::size_t> changes(std::size_t row, bool slower) {
    const std::vector<std::pair<round_id, double>> all(rows_[row].rounds.begin(),
                                                       rows_[row].rounds.end());
    std::vector<timed_sum> times;
    for (std::size_t run = 0; run < 40; ++run) {
      timing drawn{.rounds = {}, .runs = {0}};
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [round, seconds] = all[random_() % all.size()];
        const round_id id{0, static_cast<std::int64_t>(i)};
        drawn.rounds[id] = seconds * (slower && run >= 16 ? 1.03 : 1);
        if (rows_[row].disturbed.contains(round)) drawn.disturbed.insert(id);
      }
      const term one{1, &drawn};
      times.emplace_back(std::span(&one, 1));
    }
    return firsts(times, rows());
  }

 private:
  std::vector<timing> rows_;
  std::vector<double> step_;  ///< seconds of all calls in a step
  std::mt19937 random_{5};
};

TEST(ChangePoints, NameThreePercentInALargeLayerUnderRecordedNoise) {
  recorded_noise noise;
  const std::vector<std::size_t> rows = noise.large_rows();
  ASSERT_THAT(rows, SizeIs(5));
  constexpr int tries = 30;
  int named = 0;
  int first_run_named = 0;
  for (const std::size_t row : rows) {
    for (int i = 0; i < tries; ++i) {
      const std::vector<std::size_t> found = noise.changes(row, true);
      const auto is_near = [](std::size_t first) { return first >= 14 && first <= 18; };
      named += found.size() == 1 && is_near(found.front()) ? 1 : 0;
      first_run_named += found == std::vector<std::size_t>{16} ? 1 : 0;
    }
  }
  EXPECT_GE(named, 142);  // of 150
  EXPECT_GE(first_run_named, 125);
}

TEST(ChangePoints, NameNothingInHistoriesWithoutOneUnderRecordedNoise) {
  recorded_noise noise;
  ASSERT_EQ(noise.rows(), 55);
  for (int history = 0; history < 20; ++history) {
    for (std::size_t row = 0; row < noise.rows(); ++row) {
      EXPECT_THAT(noise.changes(row, false), IsEmpty()) << history << ' ' << row;
    }
  }
}

TEST(ChangePoints, AreFalseInAtMostOneOfAHundredHistories) {
  int wrong = 0;
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    wrong += firsts(series(30, {}, seed)).empty() ? 0 : 1;
  }
  EXPECT_LE(wrong, 10);
}

}  // namespace analysis_change_points_test
}  // namespace layerbench::analysis
