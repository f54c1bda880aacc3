// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/validate/json.hpp>
#include <layerbench/analysis/validate/text.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"

namespace layerbench::analysis {
namespace analysis_validation_text_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::keys;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Of the example file: tiny with `cache:model`, small hot and disturbed, and a case that lacks a
/// layer.
validation golden() { return validate(std::vector{testing::chain_results()}); }

/// Without hot rows, so that there is no naive hot sum.
validation without_hot() {
  std::vector files{testing::chain_results()};
  std::erase_if(files.at(0).rows, [](const auto& row) { return row.name.cache == "hot"; });
  std::erase_if(files.at(0).chains,
                [](const auto& row) { return row.name.model_case.model != "tiny"; });
  return validate(files);
}

TEST(ValidationJson, IsTheContract) {
  const json::value all = to_json(golden());
  EXPECT_THAT(keys(all), IsSupersetOf({"schema", "cases", "mean_abs_error", "median_abs_error",
                                       "max_abs_error", "bias", "within_2_percent",
                                       "within_5_percent", "covered", "naive_mean_abs_error"}));
  EXPECT_EQ(all.at("schema"), 1);
  ASSERT_THAT(all.at("cases"), SizeIs(2));
  const json::value& tiny = all.at("cases").at(0);
  EXPECT_THAT(keys(tiny), IsSupersetOf({"model", "phase", "backend", "dtype", "batch", "threads",
                                        "predicted_seconds", "predicted_low", "predicted_high",
                                        "measured_seconds", "measured_low", "measured_high",
                                        "error", "naive_seconds", "naive_error", "disturbed"}));
  EXPECT_EQ(tiny.at("model"), "tiny");
  EXPECT_DOUBLE_EQ(tiny.at("predicted_seconds"), 3.1e-3);
  EXPECT_DOUBLE_EQ(tiny.at("measured_seconds"), 3.125e-3);
  // Student's 95 % interval of the six rounds: 2.571 * 0.0442 ms / sqrt(6) to either side.
  EXPECT_NEAR(tiny.at("measured_low"), 3.079e-3, 5e-6);
  EXPECT_NEAR(tiny.at("measured_high"), 3.171e-3, 5e-6);
  EXPECT_NEAR(tiny.at("error"), -0.008, 1e-12);
  EXPECT_DOUBLE_EQ(tiny.at("naive_seconds"), 2.35e-3);
  EXPECT_NEAR(tiny.at("naive_error"), -0.248, 1e-12);
  EXPECT_EQ(tiny.at("disturbed"), false);
  EXPECT_LT(tiny.at("predicted_low"), tiny.at("predicted_seconds"));
  EXPECT_GT(tiny.at("predicted_high"), tiny.at("predicted_seconds"));
  EXPECT_EQ(all.at("cases").at(1).at("disturbed"), true);
}

TEST(ValidationJson, HasTheTotals) {
  const json::value all = to_json(golden());
  EXPECT_NEAR(all.at("mean_abs_error"), 0.154, 1e-12);
  EXPECT_NEAR(all.at("median_abs_error"), 0.154, 1e-12);
  EXPECT_NEAR(all.at("max_abs_error"), 0.3, 1e-12);
  EXPECT_NEAR(all.at("bias"), -0.154, 1e-12);
  EXPECT_EQ(all.at("within_2_percent"), 0.5);
  EXPECT_EQ(all.at("within_5_percent"), 0.5);
  EXPECT_EQ(all.at("covered"), 0.5);
  EXPECT_NEAR(all.at("naive_mean_abs_error"), 0.274, 1e-12);
}

TEST(ValidationJson, ListsUnvalidatedCases) {
  const json::value all = to_json(golden());
  ASSERT_THAT(all.at("unvalidated"), SizeIs(1));
  EXPECT_EQ(all.at("unvalidated").at(0).at("case"), "inference/reference/f32/tiny/batch:4");
  EXPECT_THAT(all.at("unvalidated").at(0).at("reason").get<std::string>(), mentions("relu1"));
}

TEST(ValidationJson, HasNullsWhereThereIsNoNumber) {
  const json::value no_naive = to_json(without_hot());
  EXPECT_TRUE(no_naive.at("cases").at(0).at("naive_seconds").is_null());
  EXPECT_TRUE(no_naive.at("cases").at(0).at("naive_error").is_null());
  EXPECT_TRUE(no_naive.at("naive_mean_abs_error").is_null());
  EXPECT_FALSE(no_naive.at("mean_abs_error").is_null());
  validation none = golden();
  none.cases.clear();
  const json::value empty = to_json(none);
  for (const char* item : {"mean_abs_error", "median_abs_error", "max_abs_error", "bias",
                           "within_2_percent", "within_5_percent", "covered"}) {
    EXPECT_TRUE(empty.at(item).is_null()) << item;
  }
}

TEST(ValidationText, HasATableAndALineForEachMethod) {
  const table cases = validation_table(golden());
  ASSERT_THAT(cases.rows, SizeIs(2));
  EXPECT_THAT(
      cases.rows[0],
      ElementsAre(mentions("tiny", "inference", "reference", "f32", "2", "1"), "3.100",
                  ::testing::_, "3.125", mentions("3.083", "3.172"), "-0.8 %", "-24.8 %", ""));
  EXPECT_THAT(cases.rows[1].front(), mentions("small"));
  EXPECT_EQ(cases.rows[1].back(), "disturbed");
  const std::string end = remarks(golden());
  EXPECT_THAT(text(golden()),
              AllOf(StartsWith("inference, reference f32, batch 2, 1 thread:\n"), EndsWith(end)));
  std::istringstream lines(text(golden()).substr(0, text(golden()).find("\n\n")));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100) << line;
    EXPECT_THAT(line, ::testing::Not(mentions("3.083"))) << "only in CSV and JSON";
  }
  EXPECT_THAT(end, mentions("1 of 2 cases"));
  EXPECT_THAT(end, mentions("inference/reference/f32/tiny/batch:4", "relu1"));
  EXPECT_THAT(text(golden()), HasSubstr("loop")) << "what a naive sum is";
}

TEST(ValidationText, RoundsErrorsLikeTheirTimes) {
  validation all = golden();
  all.cases.resize(1);
  validated& tiny = all.cases[0];
  EXPECT_THAT(text(all), Not(HasSubstr("~")));
  tiny.measured.disturbed = 1;
  tiny.measured.low = 2.5e-3;
  tiny.measured.high = 3.9e-3;
  EXPECT_THAT(text(all), mentions(" 3.100 ", " ~3.1 ", " ~+0 % ", " ~-20 % ", "~:"));
  tiny.measured.seconds = 2.26e-3;
  EXPECT_THAT(text(all), mentions(" 3.100 ", " ~2.3 ", " ~+30 % "))
      << "+37 % contradicts 3.1 / 2.3";
}

TEST(ValidationText, SaysWhichCasesAreNotJudged) {
  validation all = golden();
  all.cases.resize(1);
  validated& tiny = all.cases[0];
  EXPECT_THAT(text(all), Not(HasSubstr("too wide")));
  tiny.predicted.step->sampling_high = 10e-3;
  EXPECT_THAT(text(all), AllOf(mentions("too wide", "1 case"), Not(HasSubstr("1 of 1"))));
  EXPECT_TRUE(to_json(all).at("cases").at(0).at("covered").is_null());
  tiny.predicted.step->protocol_half_width = {};
  tiny.predicted.step->sampling_low = tiny.predicted.step->sampling_high = 3.1e-3;
  tiny.predicted.step->kind = interval_method::none;
  tiny.predicted.rounds = 1;
  EXPECT_THAT(text(all), AllOf(mentions(" none ", "few rounds"), Not(HasSubstr("1 of 1"))));
  EXPECT_TRUE(to_json(all).at("cases").at(0).at("predicted_low").is_null());
  EXPECT_TRUE(to_json(all).at("covered").is_null());
}

/// The example three times: six cases.
validation many() {
  validation all = golden();
  const std::vector<validated> cases = all.cases;
  for (int i = 0; i < 2; ++i) all.cases.insert(all.cases.end(), cases.begin(), cases.end());
  return all;
}

TEST(ValidationText, HasStatisticsOfManyCasesOnly) {
  const std::string end = remarks(many());
  EXPECT_THAT(end, mentions("15.4 %", "30.0 %", "-15.4 %", "2 %", "5 %", "50 %", "3 of 6 cases"));
  EXPECT_THAT(end, mentions("naive", "27.4 %"));
  EXPECT_THAT(remarks(golden()), Not(HasSubstr("%"))) << "two cases are in the table";
}

TEST(ValidationText, HasNoNumbersOfNothing) {
  const auto naive_line = [](const validation& all) {
    const std::string end = remarks(all);
    const std::size_t begin = end.find("naive");
    return end.substr(begin, end.find('\n', begin) - begin);
  };
  EXPECT_THAT(naive_line(many()), HasSubstr("%"));
  EXPECT_THAT(text(without_hot()), Not(HasSubstr("naive")));
  validation none = golden();
  none.cases.clear();
  EXPECT_THAT(text(none), AllOf(mentions("inference/reference/f32/tiny/batch:4"),
                                Not(HasSubstr("%")), Not(HasSubstr("|"))));
}

TEST(ValidationCsv, HasOneRowPerCase) {
  const table t = records(golden());
  ASSERT_THAT(t.rows, SizeIs(3));
  EXPECT_THAT(t.rows, Each(SizeIs(t.columns.size())));
  const auto reason =
      std::ranges::find(t.columns, "unvalidated", &column::title) - t.columns.begin();
  EXPECT_EQ(t.rows[0].at(static_cast<std::size_t>(reason)), "");
  EXPECT_THAT(t.rows[2].at(static_cast<std::size_t>(reason)), mentions("relu1"));
  const auto measured =
      std::ranges::find(t.columns, "measured_seconds", &column::title) - t.columns.begin();
  EXPECT_DOUBLE_EQ(std::stod(t.rows[0].at(static_cast<std::size_t>(measured))), 0.003125);
  EXPECT_EQ(t.rows[2].at(static_cast<std::size_t>(measured)), "");
}

}  // namespace analysis_validation_text_test
}  // namespace layerbench::analysis
