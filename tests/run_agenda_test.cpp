// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/reference/list.hpp>
#include <layerbench/run/agenda.hpp>

namespace layerbench::run {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

result::case_name owner_of(const std::string& dtype, std::int64_t batch,
                           const std::string& threads) {
  return {"reference", dtype, "tiny", batch, {{"threads", threads}}};
}

class Agenda : public ::testing::Test {
 protected:
  std::shared_ptr<arena> memory_ =
      std::make_shared<arena>(std::make_unique<backend_device<reference::backend, op::add>>(1));
  std::vector<std::unique_ptr<fixture>> fixtures_;

  fixture* add_row(const result::case_name& owner, const std::string& layer,
                   const std::string& cache = "model", std::int64_t count = 1) {
    row what{.name = {owner, "add", "fwd", layer, cache},
             .op = op::any(op::add{{4}}),
             .count = count,
             .around = {},
             .signature = {}};
    fixtures_.push_back(std::make_unique<fixture>(std::move(what), memory_));
    return fixtures_.back().get();
  }
  [[nodiscard]] agenda made(const schedule& plan) const {
    std::vector<fixture*> rows;
    for (const auto& each : fixtures_) rows.push_back(each.get());
    return {rows, {}, plan};
  }
  /// Rounds of the only case's rows: a value a row.
  static void add_round(measured_case& of, std::int64_t round, const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < of.rows.size(); ++i) of.rows[i].rounds[round] = seconds[i];
  }
};

TEST_F(Agenda, AWholeModelIsDoneWhenItsSumIsPrecise) {
  add_row(owner_of("f32", 1, "1"), "a", "model", 3);
  add_row(owner_of("f32", 1, "1"), "b");
  agenda all = made({.whole_models = true});
  measured_case& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 7; ++round) {
    EXPECT_FALSE(only.done);
    // Rows vary by 30 %, but against each other.
    const double swing = round % 2 == 0 ? 0.1 : -0.1;
    add_round(only, round, {1 + swing, 1 - 3 * swing});
    const std::string ending = all.close_round(only);
    EXPECT_EQ(ending.empty(), round < 6);
    if (round == 6) {
      EXPECT_THAT(ending, HasSubstr("precise enough"));
    }
  }
  EXPECT_TRUE(only.done);
}

TEST_F(Agenda, RowsAreDoneEachForItself) {
  add_row(owner_of("f32", 1, "1"), "steady");
  add_row(owner_of("f32", 1, "1"), "noisy");
  agenda all = made({});
  measured_case& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 8; ++round) {
    add_round(only, round, {1, round % 2 == 0 ? 1.2 : 0.8});
    EXPECT_THAT(all.close_round(only), IsEmpty());
  }
  EXPECT_TRUE(only.rows[0].done);
  EXPECT_FALSE(only.rows[1].done);
  EXPECT_FALSE(only.done);
}

TEST_F(Agenda, TimeEndsWhatIsNotPrecise) {
  add_row(owner_of("f32", 1, "1"), "noisy");
  agenda all = made({.most_time = 10, .whole_models = true});
  measured_case& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 20; ++round) {
    add_round(only, round, {round % 2 == 0 ? 1.2 : 0.8});
    only.spent = static_cast<double>(round);
    const std::string ending = all.close_round(only);
    if (round < 10) {
      EXPECT_THAT(ending, IsEmpty());
    } else if (round == 10) {
      EXPECT_THAT(ending, HasSubstr("time was up after 10.0 s"));
    }
  }
}

TEST_F(Agenda, TheLeastNumberOfRoundsIsMeasuredWhateverTheTime) {
  add_row(owner_of("f32", 1, "1"), "slow");
  agenda all = made({.rounds = 3, .most_time = 0, .whole_models = true});
  measured_case& only = all.groups().at(0).cases.at(0);
  for (std::int64_t round = 0; round < 3; ++round) {
    only.spent += 100;
    add_round(only, round, {1});
    EXPECT_EQ(all.close_round(only).empty(), round < 2);
  }
}

TEST_F(Agenda, TheBudgetIsSharedAmongTheCasesThatAreLeft) {
  add_row(owner_of("f32", 1, "1"), "a");
  add_row(owner_of("f32", 2, "1"), "a");
  agenda all = made({.rounds = 1, .most_time = 1000, .budget = 20, .whole_models = true});
  ASSERT_THAT(all.groups(), SizeIs(2));
  measured_case& first = all.groups()[0].cases.at(0);
  measured_case& second = all.groups()[1].cases.at(0);
  add_round(first, 0, {1});
  first.spent = 9.9;
  EXPECT_THAT(all.close_round(first), IsEmpty());
  first.spent = 10;
  EXPECT_THAT(all.close_round(first), HasSubstr("time was up"));
  add_round(second, 1, {1});
  second.spent = 9.9;
  EXPECT_THAT(all.close_round(second), IsEmpty());
  second.spent = 10;
  EXPECT_THAT(all.close_round(second), HasSubstr("time was up"));
}

TEST_F(Agenda, WhatATooShortRunLeavesUnknownIsCalledSo) {
  add_row(owner_of("f32", 1, "1"), "a");
  agenda all = made({.rounds = 2, .most_time = 0, .whole_models = true});
  measured_case& only = all.groups().at(0).cases.at(0);
  add_round(only, 0, {1});
  add_round(only, 1, {1});
  EXPECT_THAT(all.close_round(only), HasSubstr("not known"));
}

TEST_F(Agenda, CasesThatPeopleCompareShareTheirRounds) {
  add_row(owner_of("f32", 1, "1"), "a");
  add_row(owner_of("bf16", 1, "1"), "a");
  add_row(owner_of("f32", 1, "2"), "a");
  add_row(owner_of("f32", 8, "1"), "a");
  agenda all = made({});
  ASSERT_THAT(all.groups(), SizeIs(3));
  EXPECT_THAT(all.groups()[0].cases, SizeIs(2));
}

TEST_F(Agenda, EarlierRoundsCountAndAreNotContinued) {
  const fixture* known = add_row(owner_of("f32", 1, "1"), "a");
  add_row(owner_of("f32", 1, "1"), "b");
  agenda all = made({.rounds = 3});
  std::vector<result::measurement> rows(3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].name = known->name();
    rows[i].round = static_cast<std::int64_t>(i);
    rows[i].seconds = 1;
  }
  EXPECT_EQ(all.take_over(rows), 3);
  EXPECT_EQ(all.visits_to_do(), 3U);
  EXPECT_TRUE(all.groups().at(0).cases.at(0).rows[0].done);
  EXPECT_FALSE(all.groups().at(0).cases.at(0).rows[1].done);
}

TEST_F(Agenda, RowsThatMakeUpMostOfTheStepGetMoreTime) {
  add_row(owner_of("f32", 1, "1"), "heavy");
  add_row(owner_of("f32", 1, "1"), "light");
  agenda all = made({.rounds = 5, .least_time = 0.5, .whole_models = true});
  const measured_case& only = all.groups().at(0).cases.at(0);
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[0]), 0.1);
  add_round(all.groups()[0].cases[0], 0, {3, 1});
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[0]), 0.15);
  EXPECT_DOUBLE_EQ(all.least_time(only, only.rows[1]), 0.05);
}

}  // namespace
}  // namespace layerbench::run
