// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/op/softmax.hpp>
#include <layerbench/session/runner.hpp>

#include "support/mentions.hpp"
#include "support/work_queue.hpp"

namespace layerbench::run {
namespace session_runner_test {

using testing::case_of;
using ::testing::ElementsAre;
using testing::mentions;
using ::testing::SizeIs;

/// Readings of two processors' times. Each round takes a second; in the rounds of `stolen` the host
/// takes 5 % of it.
class clock_of_host {
 public:
  explicit clock_of_host(std::set<std::int64_t> stolen) : stolen_(std::move(stolen)) {}

  std::optional<machine::processor_times> operator()() {
    const bool ends_round = readings_++ % 2 == 1;
    if (ends_round) {
      const std::int64_t taken = stolen_.contains(readings_ / 2 - 1) ? 10 : 0;
      seen_.stolen += taken;
      seen_.busy += 200 - taken;
    }
    return seen_;
  }

 private:
  std::set<std::int64_t> stolen_;
  std::int64_t readings_ = 0;
  machine::processor_times seen_{1000, 5000, 3, 2};
};

class runner_test : public testing::work_queue_test {
 protected:
  result::results result_;

  /// Readings of the processors' speed after the first ones: twice as long where they are slow.
  bool slow_ = false;

  void measure(const stopping_limits& limits, const processor_reader& host) {
    const probe_maker speed = [&](compute_device&) {
      auto result = std::make_unique<frequency_probe>([&] { return slow_ ? 2.0 : 1.0; });
      slow_ = slow_after_a_while_;
      return result;
    };
    runner measure(rows(), {}, limits, {}, host, speed);
    EXPECT_FALSE(measure.run(result_, [] {}));
    for (const auto& [model_case, ending] : measure.endings()) endings_.push_back(ending);
  }
  bool slow_after_a_while_ = false;

  /// The counter `disturbed` of all rows of a round.
  [[nodiscard]] std::vector<double> marks(std::int64_t round) const {
    std::vector<double> all;
    for (const result::measurement& row : result_.rows) {
      if (row.error.empty() && row.round == round) all.push_back(row.counters.at("disturbed"));
    }
    return all;
  }
  std::vector<std::string> endings_;
};
using Runner = runner_test;

TEST_F(Runner, MarksEveryRowOfARoundWithStolenTime) {
  const result::case_name model_case = case_of("f32", 1, "1");
  add_row(model_case, "a", "hot");
  add_row(model_case, "b", "hot");
  measure({.min_rounds = 3, .min_time = 0, .max_time = 0, .sum_rows = true}, clock_of_host({0, 2}));
  EXPECT_THAT(result_.rows, SizeIs(6));
  EXPECT_THAT(marks(0), ElementsAre(1, 1));
  EXPECT_THAT(marks(2), ElementsAre(1, 1));
}

TEST_F(Runner, NumbersRoundsAfterThoseOfAResumedFile) {
  benchmark_row* known = add_row(case_of("f32", 1, "1"), "a", "hot");
  result::measurement before;
  before.name = known->name();
  before.counters["disturbed"] = 0;
  result_.rows.push_back(before);
  measure({.min_rounds = 2, .min_time = 0, .max_time = 0, .sum_rows = true}, clock_of_host({0}));
  EXPECT_THAT(marks(0), ElementsAre(0)) << "the row of the earlier run";
  EXPECT_THAT(marks(1), ElementsAre(1));
}

TEST_F(Runner, MarksRowsWithoutSamplesAtTheUsualFrequency) {
  slow_after_a_while_ = true;
  add_row(case_of("f32", 1, "1"), "a", "hot");
  measure({.min_rounds = 1, .min_time = 0, .max_time = 0, .sum_rows = true},
          [] { return std::nullopt; });
  EXPECT_THAT(marks(0), ElementsAre(1));
  EXPECT_EQ(result_.rows.at(0).counters.at("slowed"), result_.rows.at(0).counters.at("samples"));
}

TEST_F(Runner, MeasuresWhereStolenTimeIsNotKnown) {
  add_row(case_of("f32", 1, "1"), "a", "hot");
  measure({.min_rounds = 2, .min_time = 0, .max_time = 0, .sum_rows = true},
          [] { return std::nullopt; });
  EXPECT_THAT(result_.rows, SizeIs(2));
}

TEST_F(Runner, ContinuesWithoutARowThatCannotRun) {
  add_row(case_of("f128", 1, "1"), "fails", "hot");
  add_row(case_of("f32", 1, "1"), "runs", "hot");
  rows_.front() = std::make_unique<benchmark_row>(
      row_spec{.name = rows_.front()->name(), .op = op::any(op::softmax{{1, 4}}), .signature = {}},
      memory_);  // the device has no plan of it
  measure({.min_rounds = 3, .min_time = 0, .max_time = 0, .sum_rows = true}, clock_of_host({0}));
  EXPECT_THAT(endings_, ElementsAre(mentions("time"))) << "of the case that ran";
  ASSERT_THAT(result_.rows, SizeIs(4));
  for (const result::measurement& row : result_.rows) {
    EXPECT_EQ(row.error.empty(), row.name.layer == "runs");
    EXPECT_EQ(row.counters.contains("disturbed"), row.error.empty());
  }
}

}  // namespace session_runner_test
}  // namespace layerbench::run
