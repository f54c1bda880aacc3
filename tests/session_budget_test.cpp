// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/session/work_queue.hpp>

#include "support/work_queue.hpp"

namespace layerbench::run {
namespace run_budget_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::configuration_of;
using ::testing::SizeIs;

class budget_test : public testing::work_queue_test {
 protected:
  /// Seconds after which the case is done for want of time: rounds of a second each, that never
  /// agree.
  static double ends_after(work_queue& all, measured_configuration& configuration) {
    for (std::int64_t round = 0; round < 2000; ++round) {
      add_round(configuration, round,
                std::vector<double>(configuration.rows.size(), round % 2 == 0 ? 1.2 : 0.8));
      configuration.spent += 1;
      if (!all.end_round(configuration).empty()) return configuration.spent;
    }
    return HUGE_VAL;
  }
};
using Budget = budget_test;

TEST_F(Budget, TheBudgetIsSharedAmongTheCasesThatAreLeft) {
  add_row(configuration_of("f32", 1, "1"), "a");
  add_row(configuration_of("f32", 2, "1"), "a");
  work_queue all = queue_of({.rounds = 1, .most_time = 1000, .budget = 20, .whole_models = true});
  ASSERT_THAT(all.groups(), SizeIs(2));
  measured_configuration& first = all.groups()[0].cases.at(0);
  measured_configuration& second = all.groups()[1].cases.at(0);
  add_round(first, 0, {1});
  first.spent = 9.9;
  EXPECT_THAT(all.end_round(first), IsEmpty());
  first.spent = 10;
  EXPECT_THAT(all.end_round(first), HasSubstr("time was up"));
  add_round(second, 1, {1});
  second.spent = 9.9;
  EXPECT_THAT(all.end_round(second), IsEmpty());
  second.spent = 10;
  EXPECT_THAT(all.end_round(second), HasSubstr("time was up"));
}

TEST_F(Budget, WhatACaseLeavesOfTheBudgetGoesToTheOthers) {
  for (const std::int64_t batch : {1, 2, 4}) add_row(configuration_of("f32", batch, "1"), "a");
  work_queue all = queue_of({.rounds = 6, .most_time = 1000, .budget = 30, .whole_models = true});
  ASSERT_THAT(all.groups(), SizeIs(3));
  measured_configuration& quick = all.groups()[0].cases.at(0);
  quick.spent = 2;
  for (std::int64_t round = 0; round < 6; ++round) add_round(quick, round, {1});
  EXPECT_THAT(all.end_round(quick), HasSubstr("precise enough after 2.0 s"));
  // 28 seconds are left for two.
  EXPECT_DOUBLE_EQ(ends_after(all, all.groups()[1].cases.at(0)), 14);
  EXPECT_DOUBLE_EQ(ends_after(all, all.groups()[2].cases.at(0)), 14);
}

TEST_F(Budget, WhatACaseOverdrawsIsTakenFromAllOthersAlike) {
  for (const std::int64_t batch : {1, 2, 4}) add_row(configuration_of("f32", batch, "1"), "a");
  work_queue all = queue_of({.rounds = 1, .most_time = 1000, .budget = 30, .whole_models = true});
  measured_configuration& slow = all.groups().at(0).cases.at(0);
  add_round(slow, 0, {1});
  slow.spent = 20;  // in its first round
  EXPECT_THAT(all.end_round(slow), HasSubstr("time was up after 20.0 s"));
  EXPECT_DOUBLE_EQ(ends_after(all, all.groups().at(1).cases.at(0)), 5);
  EXPECT_DOUBLE_EQ(ends_after(all, all.groups().at(2).cases.at(0)), 5);
}

TEST_F(Budget, CasesOfOneGroupShareTheBudgetToo) {
  add_row(configuration_of("f32", 1, "1"), "a");
  add_row(configuration_of("bf16", 1, "1"), "a");
  work_queue all = queue_of({.rounds = 1, .most_time = 1000, .budget = 20, .whole_models = true});
  ASSERT_THAT(all.groups(), SizeIs(1));
  std::vector<measured_configuration>& both = all.groups()[0].cases;
  EXPECT_DOUBLE_EQ(ends_after(all, both.at(0)), 10);
  EXPECT_DOUBLE_EQ(ends_after(all, both.at(1)), 10);
}

TEST_F(Budget, ACaseHasItsOwnLimitWithinAnyBudget) {
  for (const double budget : {20.0, 1000.0, std::numeric_limits<double>::infinity()}) {
    cases_.clear();
    add_row(configuration_of("f32", 1, "1"), "a");
    add_row(configuration_of("f32", 2, "1"), "a");
    work_queue all = queue_of({.rounds = 1, .most_time = 8, .budget = budget, .whole_models = true});
    EXPECT_DOUBLE_EQ(ends_after(all, all.groups().at(0).cases.at(0)), 8) << budget;
    EXPECT_DOUBLE_EQ(ends_after(all, all.groups().at(1).cases.at(0)), 8) << budget;
  }
}

TEST_F(Budget, ABudgetThatIsTooSmallLeavesTheLeastRoundsToEveryCase) {
  for (const double budget : {0.0, 1e-9, 1.0}) {
    cases_.clear();
    add_row(configuration_of("f32", 1, "1"), "a");
    add_row(configuration_of("f32", 2, "1"), "a");
    work_queue all = queue_of({.rounds = 3, .budget = budget, .whole_models = true});
    for (configuration_group& group : all.groups()) {
      measured_configuration& configuration = group.cases.at(0);
      for (std::int64_t round = 0; round < 3; ++round) {
        EXPECT_FALSE(configuration.done) << budget;
        add_round(configuration, round, {1});
        configuration.spent += 1;
        EXPECT_EQ(all.end_round(configuration).empty(), round < 2) << budget;
      }
    }
  }
}

TEST_F(Budget, WhatFailedNeedsNoBudget) {
  for (const std::int64_t batch : {1, 2}) add_row(configuration_of("f32", batch, "1"), "a");
  add_row(configuration_of("f32", 1, "1"), "b");
  work_queue all = queue_of({.rounds = 1, .most_time = 1000, .budget = 20, .whole_models = true});
  // As the scheduler leaves rows that cannot be prepared: done, without a timing.
  for (measured_row& row : all.groups().at(0).cases.at(0).rows) row.done = true;
  EXPECT_DOUBLE_EQ(ends_after(all, all.groups().at(1).cases.at(0)), 20);
}

TEST_F(Budget, RowsThatMakeUpMostOfTheStepGetMoreTime) {
  add_row(configuration_of("f32", 1, "1"), "heavy");
  add_row(configuration_of("f32", 1, "1"), "light");
  work_queue all = queue_of({.rounds = 5, .least_time = 0.5, .whole_models = true});
  const measured_configuration& only = all.groups().at(0).cases.at(0);
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[0]), 0.1);
  add_round(all.groups()[0].cases[0], 0, {3, 1});
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[0]), 0.15);
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[1]), 0.05);
}

TEST_F(Budget, TimeWithinACaseFollowsCountsButStaysWithinBounds) {
  const result::configuration_name configuration = configuration_of("f32", 1, "1");
  add_row(configuration, "once");
  add_row(configuration, "often", "model", 3);
  for (int i = 0; i < 8; ++i) add_row(configuration, "tiny" + std::to_string(i));
  work_queue all = queue_of({.rounds = 5, .least_time = 0.5, .whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  add_round(only, 0, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[0]), 0.1 * 10 / 4);
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[1]), 0.1 * 4)
      << "at most four times an equal share";
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[2]), 0.1 / 2) << "at least half of one";
}

TEST_F(Budget, RowsThatAreNotAddedUpHaveEqualTimes) {
  add_row(configuration_of("f32", 1, "1"), "heavy");
  add_row(configuration_of("f32", 1, "1"), "light");
  work_queue all = queue_of({.rounds = 5, .least_time = 0.5});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  add_round(only, 0, {3, 1});
  for (const measured_row& row : only.rows) EXPECT_DOUBLE_EQ(all.least_time(only, row), 0.1);
}

}  // namespace run_budget_test
}  // namespace layerbench::run
