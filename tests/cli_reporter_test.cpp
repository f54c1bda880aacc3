// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/json.hpp>
#include <layerbench/cli/google_formats.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/temporary_directory.hpp"

namespace layerbench::run {
namespace run_reporter_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using measurements = std::vector<result::measurement>;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

result::measurement round_of(const std::string& layer, std::int64_t round, double seconds) {
  result::measurement row;
  row.name = {{"reference", "f32", "tiny", 1, {}}, "gemm", "fwd", layer, "hot"};
  row.label = {"m:1,n:10,k:64", "loops", "", false};
  row.round = round;
  row.seconds = seconds;
  row.cpu_seconds = 2 * seconds;
  row.calls = 100;
  row.counters = {{"count", 2}, {"flops", 1280}, {"bytes", 2856}};
  return row;
}

measurements three_rounds(const std::string& layer = "fc1") {
  return {round_of(layer, 0, 4e-6), round_of(layer, 1, 1e-6), round_of(layer, 2, 4e-6)};
}

result::measurement failure(const std::string& layer, const std::string& why) {
  result::measurement row = round_of(layer, 0, 0);
  row.error = why;
  row.counters.clear();
  return row;
}

/// Rows of the JSON form.
json::value json_rows(const measurements& rows,
                      row_choice choice = row_choice::rounds_and_aggregates) {
  const std::string text = render(to_runs(rows, choice), {"json"});
  EXPECT_TRUE(json::value::accept(text)) << text;
  return json::value::parse(text).at("benchmarks");
}

std::vector<std::string> names(const json::value& rows) {
  std::vector<std::string> all;
  for (const json::value& row : rows) all.push_back(row.at("name"));
  return all;
}

const std::string fc1 = "gemm/fwd/reference/f32/tiny/fc1/batch:1/cache:hot";

TEST(Reporter, JsonHasRoundsThenAggregates) {
  const json::value rows = json_rows(three_rounds());
  EXPECT_THAT(names(rows), ::testing::ElementsAre(fc1, fc1, fc1, fc1 + "_mean", fc1 + "_median",
                                                  fc1 + "_stddev", fc1 + "_cv"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows.at(i).at("repetition_index"), i);
  for (const json::value& row : rows) {
    EXPECT_EQ(row.at("run_name"), fc1);
    EXPECT_EQ(row.at("repetitions"), 3);
    EXPECT_EQ(row.at("time_unit"), "ns");
  }
}

TEST(Reporter, AggregatesAreRight) {
  const json::value rows = json_rows(three_rounds(), row_choice::aggregates);
  ASSERT_THAT(rows, SizeIs(4));
  const std::vector<double> expected{3, 4, std::sqrt(3.0), std::sqrt(3.0) / 3};
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_ratio = i == 3;
    const double time = (is_ratio ? 1 : 1e3) * expected[i];
    const double cpu_factor = is_ratio ? 1 : 2;
    EXPECT_NEAR(rows.at(i).at("real_time").get<double>(), time, 1e-9);
    EXPECT_NEAR(rows.at(i).at("cpu_time").get<double>(), cpu_factor * time, 1e-9);
    EXPECT_EQ(rows.at(i).at("count"), i < 2 ? 2 : 0);
  }
}

TEST(Reporter, OneRoundHasNoAggregates) {
  const measurements one{round_of("fc1", 0, 1e-6)};
  for (const row_choice choice : {row_choice::aggregates, row_choice::rounds_and_aggregates}) {
    EXPECT_THAT(names(json_rows(one, choice)), ::testing::ElementsAre(fc1));
  }
}

TEST(Reporter, RowsKeepTheirOrderAndRoundsGoUp) {
  const measurements rows{round_of("fc2", 1, 1e-6), round_of("fc1", 0, 1e-6),
                          round_of("fc2", 0, 1e-6)};
  const json::value shown = json_rows(rows);
  ASSERT_THAT(shown, SizeIs(2 + 4 + 1));
  EXPECT_THAT(shown.at(0).at("name").get<std::string>(), HasSubstr("/fc2/"));
  EXPECT_EQ(shown.at(0).at("repetition_index"), 0);
  EXPECT_EQ(shown.at(1).at("repetition_index"), 1);
  EXPECT_EQ(shown.at(6).at("name"), fc1);
}

TEST(Reporter, NumbersThatAreNotFiniteAreLeftOut) {
  for (const double wrong : {not_a_number, infinite, -infinite}) {
    for (std::size_t where = 0; where < 3; ++where) {
      measurements rows = three_rounds();
      rows[where].counters["power_w"] = wrong;
      rows[where].counters["flops"] = wrong;
      const json::value shown = json_rows(rows);
      ASSERT_THAT(shown, SizeIs(7));
      EXPECT_FALSE(shown.at(where).contains("power_w"));
      EXPECT_FALSE(shown.at(where).contains("flops"));
      if (where != 0) {
        EXPECT_EQ(shown.at(3).at("flops"), 1280) << "the mean of the others";
      }
    }
  }
}

TEST(Reporter, WritesTimesInTheUnitThatWasAskedFor) {
  const auto written = [](std::string_view unit) {
    const auto runs = to_runs(three_rounds(), row_choice::rounds_and_aggregates, unit);
    return json::value::parse(render(runs, {"json"})).at("benchmarks");
  };
  const json::value usual = written("");
  const json::value in_us = written("us");
  ASSERT_EQ(usual.size(), in_us.size());
  for (std::size_t i = 0; i < usual.size(); ++i) {
    EXPECT_EQ(usual.at(i).at("time_unit"), "ns");
    EXPECT_EQ(in_us.at(i).at("time_unit"), "us");
    if (usual.at(i).value("aggregate_unit", "time") == "percentage") continue;
    EXPECT_NEAR(usual.at(i).at("real_time").get<double>(),
                1000 * in_us.at(i).at("real_time").get<double>(), 1e-6);
  }
}

TEST(Reporter, CountersOfSomeRoundsOnlyDoNoHarm) {
  measurements rows = three_rounds();
  rows[0].counters["low_s"] = 1;
  rows[1].counters["high_s"] = 2;
  rows[2].counters.erase("bytes");
  EXPECT_THAT(json_rows(rows), SizeIs(7));
  const std::string csv = render(to_runs(rows, row_choice::rounds_and_aggregates), {"csv"});
  EXPECT_THAT(csv, AllOf(HasSubstr("\"low_s\""), HasSubstr("\"high_s\"")));
  std::istringstream stream(csv);
  std::vector<std::ptrdiff_t> commas;
  for (std::string line; std::getline(stream, line);) {
    commas.push_back(std::ranges::count(line, ','));
  }
  // The labels hold two more each.
  EXPECT_THAT(commas, ::testing::ElementsAre(15, 17, 17, 17, 17, 17, 17, 17));
}

TEST(Reporter, AFailedRowIsOneLineWithItsReason) {
  measurements rows = three_rounds();
  rows.push_back(failure("fc2", "no f64"));
  for (const row_choice choice : {row_choice::aggregates, row_choice::rounds_and_aggregates}) {
    const json::value shown = json_rows(rows, choice);
    const json::value& row = shown.back();
    EXPECT_THAT(row.at("name").get<std::string>(), HasSubstr("/fc2/"));
    EXPECT_EQ(row.at("error_occurred"), true);
    EXPECT_EQ(row.at("error_message"), "no f64");
    for (const json::value& other : shown) {
      EXPECT_EQ(other.contains("error_occurred"), &other == &row);
    }
  }
  for (const char* format : {"csv", "console"}) {
    EXPECT_THAT(render(to_runs(rows, row_choice::aggregates), {format}), HasSubstr("no f64"));
  }
}

TEST(Reporter, ARowThatFailsLaterHasNoTimes) {
  measurements rows = three_rounds();
  rows[1].error = "device lost";
  const json::value shown = json_rows(rows);
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown.at(0).at("error_message"), "device lost");
}

TEST(Reporter, StrangeTextStaysJson) {
  const std::vector<std::pair<std::string, std::string>> texts{
      {"say \"no\"", "say \"no\""},   {"back\\slash", "back\\slash"}, {"two\nlines", "two\nlines"},
      {"tab\there", "tab here"},      {"bell\x07", "bell "},          {"esc\x1b[0m", "esc [0m"},
      {"caf\xc3\xa9", "caf\xc3\xa9"}, {"bad\xff", "bad\xef\xbf\xbd"}, {"{}[],:", "{}[],:"}};
  for (const auto& [text, expected] : texts) {
    const json::value failed = json_rows({failure("fc1", text)});
    EXPECT_EQ(failed.at(0).at("error_message"), expected);
    measurements rows = three_rounds();
    for (result::measurement& row : rows) row.label.algorithm = text;
    const json::value shown = json_rows(rows);
    EXPECT_GE(shown.size(), rows.size());
    for (const json::value& row : shown) {
      EXPECT_EQ(row.at("label"), "key=m:1,n:10,k:64;algo=" + expected + ";state=");
    }
  }
}

TEST(Reporter, JsonReadsBackAsItWas) {
  const testing::temporary_directory scratch;
  measurements rows = three_rounds();
  rows[1].counters["min_s"] = 0.1;
  rows.push_back(failure("fc2", "why \"not\""));
  const result::results read = result::read(
      scratch.write("r.json", render(to_runs(rows, row_choice::rounds_and_aggregates), {"json"})));
  ASSERT_THAT(read.rows, SizeIs(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read.rows[i].name, rows[i].name);
    EXPECT_EQ(read.rows[i].round, rows[i].round);
    EXPECT_EQ(read.rows[i].error, rows[i].error);
    EXPECT_DOUBLE_EQ(read.rows[i].seconds, rows[i].seconds);
    EXPECT_DOUBLE_EQ(read.rows[i].cpu_seconds, rows[i].cpu_seconds);
    EXPECT_EQ(read.rows[i].counters, rows[i].counters);
    EXPECT_EQ(read.rows[i].label.text(), rows[i].label.text());
  }
}

// A curve writes the rows that it found once more for each batch that it adds.
TEST(Reporter, TimesDoNotDriftWhenTheyAreReadAndWrittenOften) {
  const testing::temporary_directory scratch;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-8, 2);
  measurements rows;
  for (std::int64_t i = 0; i < 1000; ++i) {
    rows.push_back(round_of("fc1", i, std::pow(10, exponent(random))));
    rows.back().calls = 1 + i % 977;
  }
  for (const std::string_view unit : {"ns", "us", "ms", "s"}) {
    const auto written_and_read = [&](const measurements& all) {
      const auto runs = to_runs(all, row_choice::rounds_and_aggregates, unit);
      return result::read(scratch.write("r.json", render(runs, {"json"}))).rows;
    };
    const measurements once = written_and_read(rows);
    measurements often = once;
    for (int times = 1; times < 5; ++times) often = written_and_read(often);
    ASSERT_THAT(often, SizeIs(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_DOUBLE_EQ(once[i].seconds, rows[i].seconds) << unit;
      EXPECT_DOUBLE_EQ(once[i].cpu_seconds, rows[i].cpu_seconds) << unit;
      EXPECT_EQ(often[i].seconds, once[i].seconds) << unit;
      EXPECT_EQ(often[i].cpu_seconds, once[i].cpu_seconds) << unit;
    }
  }
}

TEST(Reporter, NothingMeasuredIsStillJson) { EXPECT_THAT(json_rows({}), SizeIs(0)); }

TEST(Reporter, JsonHasTheContextThatIsGiven) {
  const context_fields context{{"quote", "say \"no\"\n"}, {"interrupted", "0"}};
  const auto runs = to_runs(three_rounds(), row_choice::aggregates);
  const json::value written = json::value::parse(render(runs, {"json"}, context));
  for (const auto& [name, value] : context) EXPECT_EQ(written.at("context").at(name), value);
  EXPECT_TRUE(written.at("context").contains("date")) << "Google Benchmark's own stays";
}

TEST(Reporter, ConsoleHasColourOnlyWhenAsked) {
  const auto runs = to_runs(three_rounds(), row_choice::aggregates);
  EXPECT_THAT(render(runs, {"console", true}), HasSubstr("\x1b["));
  EXPECT_THAT(render(runs, {"console", false}), Not(HasSubstr("\x1b[")));
}

}  // namespace run_reporter_test
}  // namespace layerbench::run
