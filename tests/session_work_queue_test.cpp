// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/work_queue.hpp>

#include "support/mentions.hpp"
#include "support/work_queue.hpp"

namespace layerbench::run {
namespace session_work_queue_test {

using ::testing::AllOf;
using testing::case_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;

using WorkQueue = testing::work_queue_test;

TEST_F(WorkQueue, ACaseIsDoneWhenItsSumIsPrecise) {
  add_row(case_of("f32", 1, "1"), "a", "model", 3);
  add_row(case_of("f32", 1, "1"), "b");
  const stopping_criterion criterion = queue_rows({.sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  for (std::int64_t round = 0; round < 7; ++round) {
    EXPECT_FALSE(only.done);
    // Rows vary by 30 %, but against each other.
    const double swing = round % 2 == 0 ? 0.1 : -0.1;
    add_round(only, round, {1 + swing, 1 - 3 * swing});
    const std::string ending = criterion.end_round(only, queue_);
    EXPECT_EQ(ending.empty(), round < 6);
    if (round == 6) {
      EXPECT_THAT(ending, AllOf(mentions("precise"), HasSubstr(" %")));
    }
  }
  EXPECT_TRUE(only.done);
}

TEST_F(WorkQueue, RowsAreDoneIndependently) {
  add_row(case_of("f32", 1, "1"), "steady");
  add_row(case_of("f32", 1, "1"), "noisy");
  const stopping_criterion criterion = queue_rows({});
  case_state& only = queue_.at(0).at(0);
  for (std::int64_t round = 0; round < 8; ++round) {
    add_round(only, round, {1, round % 2 == 0 ? 1.2 : 0.8});
    EXPECT_THAT(criterion.end_round(only, queue_), IsEmpty());
  }
  EXPECT_TRUE(only.rows[0].done);
  EXPECT_FALSE(only.rows[1].done);
  EXPECT_FALSE(only.done);
}

TEST_F(WorkQueue, MaxTimeEndsACaseThatIsNotPrecise) {
  add_row(case_of("f32", 1, "1"), "noisy");
  const stopping_criterion criterion = queue_rows({.max_time = 10, .sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  for (std::int64_t round = 0; round < 20; ++round) {
    add_round(only, round, {round % 2 == 0 ? 1.2 : 0.8});
    only.spent = static_cast<double>(round);
    const std::string ending = criterion.end_round(only, queue_);
    if (round < 10) {
      EXPECT_THAT(ending, IsEmpty());
    } else if (round == 10) {
      EXPECT_THAT(ending, AllOf(mentions("time", "10.0 s"), Not(HasSubstr("precise"))));
    }
  }
}

TEST_F(WorkQueue, ACaseIsOverBudgetAboveTheShareOfItsRounds) {
  add_row(case_of("f32", 1, "1"), "slow");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 4, .max_time = 8, .sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  only.spent = 1.9;
  EXPECT_FALSE(criterion.over_budget(only, queue_));
  only.spent = 2;
  EXPECT_TRUE(criterion.over_budget(only, queue_));
  add_round(only, 0, {1});
  EXPECT_FALSE(criterion.over_budget(only, queue_));
  only.spent = 4;
  EXPECT_TRUE(criterion.over_budget(only, queue_));
  for (std::int64_t round = 1; round < 10; ++round) add_round(only, round, {1});
  EXPECT_FALSE(criterion.over_budget(only, queue_))
      << "rounds beyond the least number have what is left";
  only.spent = 8;
  EXPECT_TRUE(criterion.over_budget(only, queue_));
}

TEST_F(WorkQueue, StepSecondsExtrapolateFromTheTimedRows) {
  add_row(case_of("f32", 1, "1"), "a", "model", 2, 0.25)->prepare({});
  add_row(case_of("f32", 1, "1"), "b", "model", 1, 0.5)->prepare({});
  add_row(case_of("f32", 1, "1"), "a", "hot", 2, 0.25)->prepare({});
  queue_ = make_work_queue(rows(), {});
  case_state& only = queue_.at(0).at(0);
  EXPECT_EQ(only.step_seconds(), 0);
  for (row_state& row : only.rows) row.share = row.benchmark->share();
  only.rows[0].timing.rounds[{0, 0}] = 3;
  EXPECT_DOUBLE_EQ(only.step_seconds(), 2 * 3 / 0.25);
  only.rows[1].timing.rounds[{0, 0}] = 9;
  only.rows[2].timing.rounds[{0, 0}] = 1;
  EXPECT_DOUBLE_EQ(only.step_seconds(), (2 * 3 + 9) / 0.75);
}

TEST_F(WorkQueue, TheMinimumOfRoundsIsMeasuredOverTheTimeLimit) {
  add_row(case_of("f32", 1, "1"), "slow");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 3, .max_time = 0, .sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  for (std::int64_t round = 0; round < 3; ++round) {
    only.spent += 100;
    add_round(only, round, {1});
    EXPECT_EQ(criterion.end_round(only, queue_).empty(), round < 2);
  }
}

TEST_F(WorkQueue, ACaseWhoseRowsFailedIsDoneWithoutAReason) {
  for (const bool whole_models : {true, false}) {
    rows_.clear();
    add_row(case_of("f32", 1, "1"), "a");
    const stopping_criterion criterion = queue_rows({.sum_rows = whole_models});
    case_state& only = queue_.at(0).at(0);
    only.rows[0].done = true;
    EXPECT_THAT(criterion.end_round(only, queue_), IsEmpty());
    EXPECT_TRUE(only.done);
  }
}

TEST_F(WorkQueue, AFailedRowDoesNotKeepACaseOpen) {
  add_row(case_of("f32", 1, "1"), "fails");
  add_row(case_of("f32", 1, "1"), "runs");
  const stopping_criterion criterion = queue_rows({.sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  only.rows[0].done = true;
  std::string ending;
  for (std::int64_t round = 0; round < 7; ++round) {
    only.rows[1].timing.rounds[{0, round}] = 1;
    ending = criterion.end_round(only, queue_);
  }
  EXPECT_THAT(ending, mentions("precise"));
}

TEST_F(WorkQueue, PrecisionNeedsFiveRounds) {
  add_row(case_of("f32", 1, "1"), "steady");
  const stopping_criterion criterion = queue_rows({.min_rounds = 2, .sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  for (std::int64_t round = 0; round < 5; ++round) {
    add_round(only, round, {1});
    EXPECT_EQ(criterion.end_round(only, queue_).empty(), round < 4)
        << "no 95 % interval below 5 values";
  }
}

TEST_F(WorkQueue, ASumIsPreciseOnceItsRoundsAddLittleToTheErrorOfSuchSums) {
  for (const std::string cache : {"model", "hot"}) {
    rows_.clear();
    add_row(case_of("f32", 1, "1"), "unsteady", cache);
    const stopping_criterion criterion = queue_rows({.precision = 0.001, .sum_rows = true});
    case_state& only = queue_.at(0).at(0);
    for (std::int64_t round = 0; round < 8; ++round) {
      add_round(only, round, {round % 2 == 0 ? 1.01 : 0.99});
      static_cast<void>(criterion.end_round(only, queue_));
    }
    EXPECT_EQ(only.done, cache == "model") << "no error of hot sums is known";
  }
}

TEST_F(WorkQueue, AShortRunHasNoKnownPrecision) {
  add_row(case_of("f32", 1, "1"), "a");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 2, .max_time = 0, .sum_rows = true});
  case_state& only = queue_.at(0).at(0);
  add_round(only, 0, {1});
  add_round(only, 1, {1});
  EXPECT_THAT(criterion.end_round(only, queue_), AllOf(mentions("time"), Not(HasSubstr(" %"))));
}

TEST_F(WorkQueue, CasesOfOneModelAndBatchShareRounds) {
  add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("bf16", 1, "1"), "a");
  add_row(case_of("f32", 1, "2"), "a");
  add_row(case_of("f32", 8, "1"), "a");
  queue_ = make_work_queue(rows(), {});
  ASSERT_THAT(queue_, SizeIs(3));
  EXPECT_THAT(queue_[0], SizeIs(2));
}

TEST_F(WorkQueue, EarlierRoundsCountAndAreNotContinued) {
  const benchmark_row* known = add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("f32", 1, "1"), "b");
  const stopping_criterion criterion = queue_rows({.min_rounds = 3});
  EXPECT_EQ(resume(rounds_of(*known, 3), criterion), 3);
  EXPECT_EQ(criterion.passes_left(queue_), 3U);
  EXPECT_TRUE(queue_.at(0).at(0).rows[0].done);
  EXPECT_FALSE(queue_.at(0).at(0).rows[1].done);
}

TEST_F(WorkQueue, AChainThatLacksRoundsReopensItsCase) {
  const benchmark_row* known = add_row(case_of("f32", 1, "1"), "a");
  chain_spec wanted{known->name().model_case, [] { return nullptr; }, {}};
  const stopping_criterion criterion({.min_rounds = 2});
  queue_ = make_work_queue(rows(), {wanted});
  result::results before = rounds_of(*known, 2);
  EXPECT_EQ(resume(before, criterion), 2);
  EXPECT_TRUE(queue_.at(0).at(0).open());
  EXPECT_FALSE(queue_.at(0).at(0).rows[0].done);
  for (result::measurement row : before.rows) {
    row.name = result::row_name::chain(known->name().model_case);
    before.chains.push_back(row);
  }
  EXPECT_EQ(resume(before, criterion), 2);
  EXPECT_FALSE(queue_.at(0).at(0).open());
}

TEST_F(WorkQueue, ResumedRowsDoNotKeepACaseOpen) {
  const benchmark_row* known = add_row(case_of("f32", 1, "1"), "a");
  add_row(case_of("f32", 1, "1"), "b");
  const stopping_criterion criterion =
      queue_rows({.min_rounds = 2, .precision = 0, .max_time = 1e9, .sum_rows = true});
  static_cast<void>(resume(rounds_of(*known, 2), criterion));
  case_state& one = queue_.at(0).at(0);
  one.rows[1].timing.rounds[{0, 2}] = 1.0;
  EXPECT_EQ(criterion.end_round(one, queue_), "");
  one.rows[1].timing.rounds[{0, 3}] = 1.0;
  EXPECT_THAT(criterion.end_round(one, queue_), mentions("resumed"));
  EXPECT_TRUE(one.done);
}

}  // namespace session_work_queue_test
}  // namespace layerbench::run
