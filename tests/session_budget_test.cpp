// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/session/stopping_criterion.hpp>

#include "support/mentions.hpp"
#include "support/work_queue.hpp"

namespace layerbench::run {
namespace session_budget_test {

using testing::case_of;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::SizeIs;

class budget_test : public testing::work_queue_test {
 protected:
  /// The time limit of a case whose rounds take a second each and never become precise.
  double ends_after(const stopping_criterion& criterion, case_state& model_case) {
    for (std::int64_t round = 0; round < 2000; ++round) {
      add_round(model_case, round,
                std::vector<double>(model_case.rows.size(), round % 2 == 0 ? 1.2 : 0.8));
      model_case.spent += 1;
      if (!criterion.end_round(model_case, queue_).empty()) return model_case.spent;
    }
    return HUGE_VAL;
  }
};
using Budget = budget_test;

TEST_F(Budget, IsSharedAmongTheOpenCases) {
  add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("f32", 2, "1"), "a");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 1, .max_time = 1000, .budget = 20, .sum_rows = true});
  ASSERT_THAT(queue_, SizeIs(2));
  case_state& first = queue_[0].at(0);
  case_state& second = queue_[1].at(0);
  add_round(first, 0, {1});
  first.spent = 9.9;
  EXPECT_THAT(criterion.end_round(first, queue_), IsEmpty());
  first.spent = 10;
  EXPECT_THAT(criterion.end_round(first, queue_), mentions("time", "10.0 s"));
  add_round(second, 1, {1});
  second.spent = 9.9;
  EXPECT_THAT(criterion.end_round(second, queue_), IsEmpty());
  second.spent = 10;
  EXPECT_THAT(criterion.end_round(second, queue_), mentions("time", "10.0 s"));
}

TEST_F(Budget, OfAFinishedCaseGoesToTheOthers) {
  for (const std::int64_t batch : {1, 2, 4}) add_row(case_of("f32", batch, "1"), "a");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 6, .max_time = 1000, .budget = 30, .sum_rows = true});
  ASSERT_THAT(queue_, SizeIs(3));
  case_state& quick = queue_[0].at(0);
  quick.spent = 2;
  for (std::int64_t round = 0; round < 6; ++round) add_round(quick, round, {1});
  EXPECT_THAT(criterion.end_round(quick, queue_), mentions("precise", "2.0 s"));
  // 28 seconds are left for two.
  EXPECT_DOUBLE_EQ(ends_after(criterion, queue_[1].at(0)), 14);
  EXPECT_DOUBLE_EQ(ends_after(criterion, queue_[2].at(0)), 14);
}

TEST_F(Budget, OverdrawnByACaseIsTakenFromAllOthers) {
  for (const std::int64_t batch : {1, 2, 4}) add_row(case_of("f32", batch, "1"), "a");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 1, .max_time = 1000, .budget = 30, .sum_rows = true});
  case_state& slow = queue_.at(0).at(0);
  add_round(slow, 0, {1});
  slow.spent = 20;  // in its first round
  EXPECT_THAT(criterion.end_round(slow, queue_), mentions("time", "20.0 s"));
  EXPECT_DOUBLE_EQ(ends_after(criterion, queue_.at(1).at(0)), 5);
  EXPECT_DOUBLE_EQ(ends_after(criterion, queue_.at(2).at(0)), 5);
}

TEST_F(Budget, IsSharedWithinAGroup) {
  add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("bf16", 1, "1"), "a");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 1, .max_time = 1000, .budget = 20, .sum_rows = true});
  ASSERT_THAT(queue_, SizeIs(1));
  case_group& both = queue_[0];
  EXPECT_DOUBLE_EQ(ends_after(criterion, both.at(0)), 10);
  EXPECT_DOUBLE_EQ(ends_after(criterion, both.at(1)), 10);
}

TEST_F(Budget, DoesNotExtendTheLimitOfACase) {
  for (const double budget : {20.0, 1000.0, std::numeric_limits<double>::infinity()}) {
    rows_.clear();
    add_row(case_of("f32", 1, "1"), "a");
    add_row(case_of("f32", 2, "1"), "a");
    const stopping_criterion criterion =
        queue_rows({.min_rounds = 1, .max_time = 8, .budget = budget, .sum_rows = true});
    EXPECT_DOUBLE_EQ(ends_after(criterion, queue_.at(0).at(0)), 8) << budget;
    EXPECT_DOUBLE_EQ(ends_after(criterion, queue_.at(1).at(0)), 8) << budget;
  }
}

TEST_F(Budget, EndsACaseBelowTheLeastNumberOfRounds) {
  add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("f32", 2, "1"), "a");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 30, .max_time = 1000, .budget = 8, .sum_rows = true});
  for (case_group& group : queue_) {
    case_state& model_case = group.at(0);
    EXPECT_DOUBLE_EQ(ends_after(criterion, model_case), 4);
    EXPECT_TRUE(model_case.done);
    EXPECT_THAT(model_case.rows.at(0).timing.rounds, SizeIs(4));
  }
}

TEST_F(Budget, DoesNotBeginARoundThatDoesNotFit) {
  add_row(case_of("f32", 1, "1"), "a");
  for (const bool whole_models : {true, false}) {
    const stopping_criterion criterion =
        queue_rows({.min_rounds = 30, .max_time = 1000, .budget = 8, .sum_rows = whole_models});
    case_state& only = queue_.at(0).at(0);
    add_round(only, 0, {1});
    only.spent = 5;
    EXPECT_THAT(criterion.end_round(only, queue_, 2.9), IsEmpty());
    EXPECT_THAT(criterion.end_round(only, queue_, 3.1), mentions("budget", "5.0 s"));
    EXPECT_TRUE(only.done);
  }
}

TEST_F(Budget, IncludesPreparationAndWhatBelongsToNoCase) {
  add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("f32", 2, "1"), "a");
  stopping_criterion criterion = queue_rows({.max_time = 1000, .budget = 20, .sum_rows = true});
  case_state& first = queue_.at(0).at(0);
  EXPECT_DOUBLE_EQ(criterion.budget_left(first, queue_), 10);
  first.prepared = 3;
  EXPECT_DOUBLE_EQ(criterion.budget_left(first, queue_), 7);
  EXPECT_DOUBLE_EQ(criterion.budget_left(queue_.at(1).at(0), queue_), 10) << "its own share";
  criterion.set_overhead(4);
  EXPECT_DOUBLE_EQ(criterion.budget_left(first, queue_), 5);
}

TEST_F(Budget, IsSharedByTheWorkOfTheCases) {
  add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("f32", 2, "1"), "a");
  const stopping_criterion criterion = queue_rows({.budget = 20});
  queue_.at(0).at(0).effort *= 3;
  EXPECT_DOUBLE_EQ(criterion.budget_left(queue_.at(0).at(0), queue_), 15);
  EXPECT_DOUBLE_EQ(criterion.budget_left(queue_.at(1).at(0), queue_), 5);
}

TEST_F(Budget, IsNoLimitWhereThereIsNone) {
  add_row(case_of("f32", 1, "1"), "a");
  const stopping_criterion criterion = queue_rows({.min_rounds = 3, .max_time = 0});
  EXPECT_FALSE(criterion.has_budget());
  case_state& only = queue_.at(0).at(0);
  only.prepared = only.spent = 1e9;
  add_round(only, 0, {1});
  EXPECT_THAT(criterion.end_round(only, queue_, 1e9), IsEmpty()) << "one of three rounds";
}

TEST_F(Budget, IsNotUsedByFailedCases) {
  for (const std::int64_t batch : {1, 2}) add_row(case_of("f32", batch, "1"), "a");
  add_row(case_of("f32", 1, "1"), "b");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 1, .max_time = 1000, .budget = 20, .sum_rows = true});
  // As the runner leaves rows that cannot be prepared: done, without a timing.
  for (row_state& row : queue_.at(0).at(0).rows) row.done = true;
  EXPECT_DOUBLE_EQ(ends_after(criterion, queue_.at(1).at(0)), 20);
}

TEST_F(Budget, GivesMoreTimeToRowsWithALargerShareOfTheStep) {
  add_row(case_of("f32", 1, "1"), "heavy");
  add_row(case_of("f32", 1, "1"), "light");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 5, .min_time = 0.1, .sum_rows = true});
  const case_state& only = queue_.at(0).at(0);
  EXPECT_DOUBLE_EQ(criterion.pass_time(only, only.rows[0]), 0.1);
  add_round(queue_[0][0], 0, {3, 1});
  EXPECT_DOUBLE_EQ(criterion.pass_time(only, only.rows[0]), 0.1 * 1.5 * 1.5);
  EXPECT_DOUBLE_EQ(criterion.pass_time(only, only.rows[1]), 0.1) << "never less";
}

TEST_F(Budget, WithinACaseFollowsCountsWithinBounds) {
  const result::case_name model_case = case_of("f32", 1, "1");
  add_row(model_case, "once");
  add_row(model_case, "often", "model", 3);
  for (int i = 0; i < 8; ++i) add_row(model_case, "tiny" + std::to_string(i));
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 5, .min_time = 0.1, .sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  add_round(only, 0, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(criterion.pass_time(only, only.rows[0]), 0.1 * 1.5 * 10 / 4);
  EXPECT_DOUBLE_EQ(criterion.pass_time(only, only.rows[1]), 0.1 * 6) << "the most";
  EXPECT_DOUBLE_EQ(criterion.pass_time(only, only.rows[2]), 0.1) << "never less";
}

TEST_F(Budget, IsEqualForRowsThatAreNotAddedUp) {
  add_row(case_of("f32", 1, "1"), "heavy");
  add_row(case_of("f32", 1, "1"), "light");
  const stopping_criterion criterion = queue_rows({.min_rounds = 5, .min_time = 0.1});
  case_state& only = queue_.at(0).at(0);
  add_round(only, 0, {3, 1});
  ASSERT_EQ(only.rows.size(), 2U);
  for (const row_state& row : only.rows) EXPECT_DOUBLE_EQ(criterion.pass_time(only, row), 0.1);
}

}  // namespace session_budget_test
}  // namespace layerbench::run
