// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/session/work_queue.hpp>

#include "support/work_queue.hpp"

namespace layerbench::run {
namespace run_agenda_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::configuration_of;
using ::testing::SizeIs;

using Agenda = testing::work_queue_test;

TEST_F(Agenda, AWholeModelIsDoneWhenItsSumIsPrecise) {
  add_row(configuration_of("f32", 1, "1"), "a", "model", 3);
  add_row(configuration_of("f32", 1, "1"), "b");
  work_queue all = queue_of({.whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 7; ++round) {
    EXPECT_FALSE(only.done);
    // Rows vary by 30 %, but against each other.
    const double swing = round % 2 == 0 ? 0.1 : -0.1;
    add_round(only, round, {1 + swing, 1 - 3 * swing});
    const std::string ending = all.end_round(only);
    EXPECT_EQ(ending.empty(), round < 6);
    if (round == 6) {
      EXPECT_THAT(ending, HasSubstr("precise enough"));
    }
  }
  EXPECT_TRUE(only.done);
}

TEST_F(Agenda, RowsAreDoneEachForItself) {
  add_row(configuration_of("f32", 1, "1"), "steady");
  add_row(configuration_of("f32", 1, "1"), "noisy");
  work_queue all = queue_of({});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 8; ++round) {
    add_round(only, round, {1, round % 2 == 0 ? 1.2 : 0.8});
    EXPECT_THAT(all.end_round(only), IsEmpty());
  }
  EXPECT_TRUE(only.rows[0].done);
  EXPECT_FALSE(only.rows[1].done);
  EXPECT_FALSE(only.done);
}

TEST_F(Agenda, TimeEndsWhatIsNotPrecise) {
  add_row(configuration_of("f32", 1, "1"), "noisy");
  work_queue all = queue_of({.most_time = 10, .whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 20; ++round) {
    add_round(only, round, {round % 2 == 0 ? 1.2 : 0.8});
    only.spent = static_cast<double>(round);
    const std::string ending = all.end_round(only);
    if (round < 10) {
      EXPECT_THAT(ending, IsEmpty());
    } else if (round == 10) {
      EXPECT_THAT(ending, HasSubstr("time was up after 10.0 s"));
    }
  }
}

TEST_F(Agenda, ACaseIsBehindWhenItsRoundsHadMoreThanTheirShareOfTheTime) {
  add_row(configuration_of("f32", 1, "1"), "slow");
  work_queue all = queue_of({.rounds = 4, .most_time = 8, .whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  only.spent = 1.9;
  EXPECT_FALSE(all.over_budget(only));
  only.spent = 2;
  EXPECT_TRUE(all.over_budget(only));
  add_round(only, 0, {1});
  EXPECT_FALSE(all.over_budget(only));
  only.spent = 4;
  EXPECT_TRUE(all.over_budget(only));
  for (std::int64_t round = 1; round < 10; ++round) add_round(only, round, {1});
  EXPECT_FALSE(all.over_budget(only)) << "rounds beyond the least number have what is left";
  only.spent = 8;
  EXPECT_TRUE(all.over_budget(only));
}

TEST_F(Agenda, AStepsTimeFollowsFromTheShareOfTheRowsThatAreKnown) {
  add_row(configuration_of("f32", 1, "1"), "a", "model", 2, 0.25)->prepare({});
  add_row(configuration_of("f32", 1, "1"), "b", "model", 1, 0.5)->prepare({});
  add_row(configuration_of("f32", 1, "1"), "a", "hot", 2, 0.25)->prepare({});
  work_queue all = queue_of({});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  EXPECT_EQ(all.step_seconds(only), 0);
  only.rows[0].rounds[0] = 3;
  EXPECT_DOUBLE_EQ(all.step_seconds(only), 2 * 3 / 0.25);
  only.rows[1].rounds[0] = 9;
  only.rows[2].rounds[0] = 1;
  EXPECT_DOUBLE_EQ(all.step_seconds(only), (2 * 3 + 9) / 0.75);
}

TEST_F(Agenda, TheLeastNumberOfRoundsIsMeasuredWhateverTheTime) {
  add_row(configuration_of("f32", 1, "1"), "slow");
  work_queue all = queue_of({.rounds = 3, .most_time = 0, .whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 3; ++round) {
    only.spent += 100;
    add_round(only, round, {1});
    EXPECT_EQ(all.end_round(only).empty(), round < 2);
  }
}

TEST_F(Agenda, ACaseOfWhichAllFailedIsDoneAndNothingIsSaidOfItsPrecision) {
  for (const bool whole_models : {true, false}) {
    cases_.clear();
    add_row(configuration_of("f32", 1, "1"), "a");
    work_queue all = queue_of({.whole_models = whole_models});
    measured_configuration& only = all.groups().at(0).cases.at(0);
    only.rows[0].done = true;
    EXPECT_THAT(all.end_round(only), IsEmpty());
    EXPECT_TRUE(only.done);
  }
}

TEST_F(Agenda, ARowThatFailedDoesNotKeepTheOthersFromBeingPrecise) {
  add_row(configuration_of("f32", 1, "1"), "fails");
  add_row(configuration_of("f32", 1, "1"), "runs");
  work_queue all = queue_of({.whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  only.rows[0].done = true;
  std::string ending;
  for (std::int64_t round = 0; round < 7; ++round) {
    only.rows[1].rounds[round] = 1;
    ending = all.end_round(only);
  }
  EXPECT_THAT(ending, HasSubstr("precise enough"));
}

TEST_F(Agenda, PrecisionNeedsSixRoundsHoweverSteadyTheyAre) {
  add_row(configuration_of("f32", 1, "1"), "steady");
  work_queue all = queue_of({.rounds = 2, .whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 6; ++round) {
    add_round(only, round, {1});
    EXPECT_EQ(all.end_round(only).empty(), round < 5) << "no 95 % interval below 6 values";
  }
}

TEST_F(Agenda, WhatATooShortRunLeavesUnknownIsCalledSo) {
  add_row(configuration_of("f32", 1, "1"), "a");
  work_queue all = queue_of({.rounds = 2, .most_time = 0, .whole_models = true});
  measured_configuration& only = all.groups().at(0).cases.at(0);
  add_round(only, 0, {1});
  add_round(only, 1, {1});
  EXPECT_THAT(all.end_round(only), HasSubstr("not known"));
}

TEST_F(Agenda, CasesThatPeopleCompareShareTheirRounds) {
  add_row(configuration_of("f32", 1, "1"), "a");
  add_row(configuration_of("bf16", 1, "1"), "a");
  add_row(configuration_of("f32", 1, "2"), "a");
  add_row(configuration_of("f32", 8, "1"), "a");
  work_queue all = queue_of({});
  ASSERT_THAT(all.groups(), SizeIs(3));
  EXPECT_THAT(all.groups()[0].cases, SizeIs(2));
}

TEST_F(Agenda, EarlierRoundsCountAndAreNotContinued) {
  const benchmark_case* known = add_row(configuration_of("f32", 1, "1"), "a");
  add_row(configuration_of("f32", 1, "1"), "b");
  work_queue all = queue_of({.rounds = 3});
  EXPECT_EQ(all.restore(rounds_of(*known, 3)), 3);
  EXPECT_EQ(all.passes_to_do(), 3U);
  EXPECT_TRUE(all.groups().at(0).cases.at(0).rows[0].done);
  EXPECT_FALSE(all.groups().at(0).cases.at(0).rows[1].done);
}

TEST_F(Agenda, AChainThatLacksRoundsHasThemBesideItsRows) {
  const benchmark_case* known = add_row(configuration_of("f32", 1, "1"), "a");
  chain_plan wanted{known->name().configuration, [] { return nullptr; }, {}};
  work_queue all(rows(), {wanted}, {.rounds = 2});
  result::results before = rounds_of(*known, 2);
  EXPECT_EQ(all.restore(before), 2);
  EXPECT_TRUE(all.groups().at(0).cases.at(0).open());
  EXPECT_FALSE(all.groups().at(0).cases.at(0).rows[0].done);
  for (result::measurement row : before.rows) {
    row.name = result::row_name::chain(known->name().configuration);
    before.chains.push_back(row);
  }
  EXPECT_EQ(all.restore(before), 2);
  EXPECT_FALSE(all.groups().at(0).cases.at(0).open());
}

TEST_F(Agenda, RowsOfAnEarlierRunDoNotKeepTheirCaseOpen) {
  const benchmark_case* known = add_row(configuration_of("f32", 1, "1"), "a");
  add_row(configuration_of("f32", 1, "1"), "b");
  work_queue all = queue_of({.rounds = 2, .precision = 0, .most_time = 1e9, .whole_models = true});
  static_cast<void>(all.restore(rounds_of(*known, 2)));
  measured_configuration& one = all.groups().at(0).cases.at(0);
  one.rows[1].rounds = {{2, 1.0}};
  EXPECT_EQ(all.end_round(one), "");
  one.rows[1].rounds[3] = 1.0;
  EXPECT_THAT(all.end_round(one), HasSubstr("resumed and whole"));
  EXPECT_TRUE(one.done);
}

}  // namespace run_agenda_test
}  // namespace layerbench::run
