// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/session/runner.hpp>

#include "support/mentions.hpp"
#include "support/work_queue.hpp"

namespace layerbench::run {
namespace session_budget_run_test {

using testing::case_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;

/// What a row takes, in seconds of the test's clock.
struct durations {
  double preparation = 1;
  double first_call = 0.3;
  double call = 0.3;  ///< each further one before the first pass
  double pass = 1;
};

/// A row that takes no time, but moves the clock.
class timed_row final : public benchmark_row {
 public:
  timed_row(benchmark_row&& row, const durations& takes, double& clock)
      : benchmark_row(std::move(row)), takes_(takes), clock_(clock) {}

  void prepare(const preparation_options& options) override {
    clock_ += takes_.preparation;
    benchmark_row::prepare(options);
    calls_ = 0;
    passes_ = 0;
  }
  void set_up(std::int64_t count) override {
    if (passes_ == 0) clock_ += calls_++ == 0 ? takes_.first_call : takes_.call;
    benchmark_row::set_up(count);
  }
  /// Comes once before each pass.
  void set_step_seconds(double seconds) override {
    clock_ += takes_.pass;
    ++passes_;
    benchmark_row::set_step_seconds(seconds);
  }

 private:
  durations takes_;
  double& clock_;
  int calls_ = 0;
  int passes_ = 0;
};

class budget_run_test : public testing::work_queue_test {
 protected:
  double clock_ = 1000;
  result::results results_;
  std::string shortfall_;
  std::optional<double> rest_;                  ///< seconds that the rest takes
  std::map<std::string, std::string> endings_;  ///< by the batch of the case

  void add(std::int64_t batch, const std::string& layer, std::int64_t count = 1,
           const durations& takes = {}, const std::string& cache = "model",
           std::int64_t elements = 4) {
    benchmark_row* row = add_row(case_of("f32", batch, "1"), layer, cache, count, 0, elements);
    rows_.back() = std::make_unique<timed_row>(std::move(*row), takes, clock_);
  }
  /// Measures within so many seconds; returns those that it took.
  double run_for(double budget, std::int64_t rounds = 2, std::optional<double> started = {}) {
    runner all(
        rows(), {},
        {.min_rounds = rounds, .min_time = 0, .max_time = 0, .budget = budget, .started = started},
        {}, [] { return std::nullopt; }, any_speed, [this] { return clock_; });
    const double begin = clock_;
    EXPECT_FALSE(all.run(results_, [] {}));
    shortfall_ = all.shortfall();
    rest_ = all.rest_seconds();
    for (const auto& [model_case, ending] : all.endings()) {
      endings_[std::to_string(model_case.batch)] = ending;
    }
    return clock_ - begin;
  }
  /// The rounds that each layer has; nothing for those that were left out.
  [[nodiscard]] std::map<std::string, int> rounds() const {
    std::map<std::string, int> all;
    for (const result::measurement& row : results_.rows) {
      if (row.error.empty()) ++all[row.name.layer];
    }
    return all;
  }
  [[nodiscard]] std::set<std::string> left_out() const {
    std::set<std::string> all;
    for (const result::measurement& row : results_.rows) {
      if (row.error.empty()) continue;
      EXPECT_THAT(row.error, mentions("left out", "--budget"));
      EXPECT_TRUE(all.insert(row.name.layer).second) << "once";
    }
    return all;
  }
};
using BudgetRun = budget_run_test;

TEST_F(BudgetRun, WithoutABudgetEverythingIsMeasured) {
  for (const char* layer : {"a", "b", "c"}) add(1, layer);
  EXPECT_NEAR(run_for(std::numeric_limits<double>::infinity()), 3 * (1 + 2), 1e-6);
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_THAT(shortfall_, IsEmpty());
}

TEST_F(BudgetRun, ThatSufficesMeasuresEverything) {
  for (const char* layer : {"a", "b", "c"}) add(1, layer);
  EXPECT_LE(run_for(60), 60);
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_THAT(rounds(), ElementsAre(std::pair("a", 2), std::pair("b", 2), std::pair("c", 2)));
  EXPECT_THAT(shortfall_, IsEmpty());
}

TEST_F(BudgetRun, LeavesOutTheLeastImportantRowsAndSaysSo) {
  add(1, "seldom", 1);
  add(1, "often", 5);
  add(1, "sometimes", 2);
  EXPECT_LE(run_for(7.1), 7.1);
  EXPECT_THAT(rounds(), ElementsAre(std::pair("often", 1), std::pair("sometimes", 1)));
  EXPECT_THAT(left_out(), ElementsAre("seldom"));
  EXPECT_THAT(shortfall_, mentions("--budget=7.1", "1", "2"));
  EXPECT_THAT(endings_["1"], mentions("budget"));
}

TEST_F(BudgetRun, KnowsWhatAnotherStartTakesForTheRest) {
  for (const char* layer : {"a", "b", "c", "d"}) add(1, layer);
  constexpr std::int64_t rounds = 6;
  run_for(12, rounds);
  EXPECT_THAT(shortfall_, Not(IsEmpty()));
  const double expected = rest_.value();
  std::erase_if(results_.rows, [](const auto& row) { return !row.error.empty(); });
  const double taken = run_for(std::numeric_limits<double>::infinity(), rounds);
  EXPECT_GE(expected, taken);
  EXPECT_LE(expected, 1.5 * taken);
}

TEST_F(BudgetRun, KeepsTheRowsThatPredictionsAddUpBeforeTheOthers) {
  add(1, "hot_often", 9, {}, "hot");
  add(1, "in_model", 1);
  run_for(3);
  EXPECT_THAT(rounds(), ElementsAre(std::pair("in_model", 1)));
  EXPECT_THAT(left_out(), ElementsAre("hot_often"));
}

TEST_F(BudgetRun, DoesNotTakeAFirstCallThatWasInterruptedForTheUsualOne) {
  for (const char* layer : {"a", "b"}) {
    add(1, layer, 1, {.preparation = 0, .first_call = 0.15, .call = 0, .pass = 0.05});
  }
  EXPECT_LE(run_for(1), 1);
  EXPECT_THAT(left_out(), IsEmpty());
}

TEST_F(BudgetRun, EndsBelowTheLeastNumberOfRounds) {
  add(1, "a");
  EXPECT_LE(run_for(6, 100), 6);
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_GE(rounds()["a"], 3);
  EXPECT_LE(rounds()["a"], 5);
  EXPECT_THAT(endings_["1"], mentions("time", "budget"));
  EXPECT_THAT(endings_["1"], Not(mentions("precise")));
  EXPECT_THAT(shortfall_, mentions("--budget=6", "100"));
}

TEST_F(BudgetRun, CountsFromTheBeginOfTheProgram) {
  add(1, "a");
  EXPECT_EQ(run_for(20, 2, clock_ - 20), 0) << "planning took all of it";
  EXPECT_THAT(left_out(), ElementsAre("a"));
  results_ = {};
  EXPECT_LE(run_for(20, 100, clock_ - 15), 5);
  EXPECT_GE(rounds()["a"], 1);
}

TEST_F(BudgetRun, LeavesTimeToLaterCases) {
  for (const std::int64_t batch : {1, 2, 4}) add(batch, "a");
  EXPECT_LE(run_for(12, 100), 12);
  EXPECT_THAT(left_out(), IsEmpty());
  std::map<std::int64_t, int> by_batch;
  for (const result::measurement& row : results_.rows) ++by_batch[row.name.model_case.batch];
  EXPECT_THAT(by_batch, ::testing::SizeIs(3));
}

TEST_F(BudgetRun, ReturnsToWhatItLeftOutWhereTimeRemains) {
  // The share of the first case is too short for its second row; the other cases take nothing.
  add(1, "a", 2, {.preparation = 4, .first_call = 0, .call = 0, .pass = 1});
  add(1, "b", 1, {.preparation = 4, .first_call = 0, .call = 0, .pass = 1});
  for (const std::int64_t batch : {2, 4, 8}) {
    add(batch, "quick", 1, {.preparation = 0, .first_call = 0, .call = 0, .pass = 0});
    add(batch, "too", 1, {.preparation = 0, .first_call = 0, .call = 0, .pass = 0});
  }
  EXPECT_LE(run_for(20, 1), 20);
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_EQ(rounds()["b"], 1);
}

TEST_F(BudgetRun, CoversAllCasesBeforeItRepeatsRounds) {
  // A second round of the first row of 6 s would leave too little for the other one.
  const durations of_long{.preparation = 5, .first_call = 0, .call = 0, .pass = 1};
  add(1, "quick", 1, {.preparation = 0, .first_call = 0, .call = 0, .pass = 1});
  add(2, "long", 1, of_long);
  add(4, "longest", 1, of_long);
  EXPECT_LE(run_for(20.5, 100), 20.5);
  EXPECT_THAT(left_out(), IsEmpty());
}

TEST_F(BudgetRun, GivesAllRoundsToOthersWhereARowNeverFits) {
  constexpr std::int64_t giant = std::int64_t{1} << 40U;
  add(1, "quick", 1, {.preparation = 0, .first_call = 0, .call = 0, .pass = 1});
  add(2, "giant", 1, {}, "model", giant);
  EXPECT_LE(run_for(60, 5), 60);
  EXPECT_THAT(left_out(), ElementsAre("giant"));
  EXPECT_EQ(rounds()["quick"], 5);
}

TEST_F(BudgetRun, PreparesOtherRowsBehindAllThatPredictionsAddUp) {
  // The share of the second case is too short for its second long row, not for its hot one.
  const durations of_long{.preparation = 5, .first_call = 0, .call = 0, .pass = 1};
  add(1, "quick", 1, {.preparation = 0, .first_call = 0, .call = 0, .pass = 1});
  add(2, "long", 2, of_long, "model", 1000);
  add(2, "longest", 1, of_long, "model", 1000);
  add(2, "hot", 1, {.preparation = 3, .first_call = 0, .call = 0, .pass = 1}, "hot");
  add(4, "none", 1, {.preparation = 0, .first_call = 0, .call = 0, .pass = 0});
  EXPECT_LE(run_for(17.5, 1), 17.5);
  EXPECT_THAT(left_out(), IsEmpty());
}

TEST_F(BudgetRun, NeverPreparesARowOfWhichALongerOneWouldNotFit) {
  // The first row tells that such rows take 10 s.
  for (const char* layer : {"a", "b", "c"}) add(1, layer, 1, {.preparation = 8, .pass = 2});
  EXPECT_LE(run_for(15, 1), 15);
  EXPECT_THAT(rounds(), ::testing::SizeIs(1));
  EXPECT_THAT(left_out(), ::testing::SizeIs(2));
}

TEST_F(BudgetRun, ResumedHasTheRowsThatWereLeftOut) {
  add(1, "a", 2);
  add(1, "b", 1);
  run_for(3.2, 1);
  EXPECT_THAT(left_out(), ElementsAre("b"));
  std::erase_if(results_.rows, [](const auto& row) { return !row.error.empty(); });
  run_for(60, 1);
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_THAT(rounds(), ElementsAre(std::pair("a", 1), std::pair("b", 1)));
}

}  // namespace session_budget_run_test
}  // namespace layerbench::run
