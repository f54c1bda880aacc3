// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/predict/validation_json.hpp>
#include <layerbench/analysis/predict/validation_text.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::report {
namespace report_validation_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

/// What the golden file says: tiny in the model's state, small hot and disturbed; and a case that
/// lacks a layer.
analysis::validation golden() {
  return analysis::validate(
      std::vector{result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json")});
}

/// Without any hot row, so that there is no naive sum.
analysis::validation without_hot() {
  std::vector files{result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json")};
  std::erase_if(files.at(0).rows, [](const auto& row) { return row.name.cache == "hot"; });
  std::erase_if(files.at(0).chains,
                [](const auto& row) { return row.name.configuration.model != "tiny"; });
  return analysis::validate(files);
}

std::set<std::string> keys(const json::value& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
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

TEST(ValidationJson, ListsWhatWasLeftOut) {
  const json::value all = to_json(golden());
  ASSERT_THAT(all.at("unvalidated"), SizeIs(1));
  EXPECT_EQ(all.at("unvalidated").at(0).at("case"), "inference/reference/f32/tiny/batch:4");
  EXPECT_EQ(all.at("unvalidated").at(0).at("reason"), "layers without a timing: relu1");
}

TEST(ValidationJson, HasNullsWhereThereIsNoNumber) {
  const json::value no_naive = to_json(without_hot());
  EXPECT_TRUE(no_naive.at("cases").at(0).at("naive_seconds").is_null());
  EXPECT_TRUE(no_naive.at("cases").at(0).at("naive_error").is_null());
  EXPECT_TRUE(no_naive.at("naive_mean_abs_error").is_null());
  EXPECT_FALSE(no_naive.at("mean_abs_error").is_null());
  analysis::validation none = golden();
  none.cases.clear();
  const json::value empty = to_json(none);
  for (const char* item : {"mean_abs_error", "median_abs_error", "max_abs_error", "bias",
                           "within_2_percent", "within_5_percent", "covered"}) {
    EXPECT_TRUE(empty.at(item).is_null()) << item;
  }
}

TEST(ValidationText, HasATableAndALineForEachMethod) {
  const std::string page = text(golden());
  EXPECT_THAT(page, HasSubstr("| tiny inference, reference f32, batch 2, 1 thread "));
  EXPECT_THAT(page, HasSubstr("|       3.125 | 3.083 to 3.172 |  -0.8 % |     -24.8 % | "));
  EXPECT_THAT(page, HasSubstr("| disturbed |"));
  EXPECT_THAT(page, HasSubstr("\npredicted: mean absolute error 15.4 %, median 15.4 %, worst 30.0 "
                              "%, bias -15.4 %; within 2 %: 50 % of cases, within 5 %: 50 %\n"));
  EXPECT_THAT(page, HasSubstr("\nnaive hot sum: mean absolute error 27.4 %"));
  EXPECT_THAT(page, HasSubstr("inside the predicted interval: 50 % of 2 cases"));
  EXPECT_THAT(page, HasSubstr("not validated: inference/reference/f32/tiny/batch:4: layers "
                              "without a timing: relu1\n"));
}

TEST(ValidationText, HasNoNumbersOfNothing) {
  EXPECT_THAT(text(without_hot()), HasSubstr("naive hot sum: no case\n"));
  analysis::validation none = golden();
  none.cases.clear();
  EXPECT_THAT(text(none), AllOf(HasSubstr("not validated"), Not(HasSubstr("error"))));
}

TEST(ValidationCsv, HasOneLineACase) {
  const table t = records(golden());
  ASSERT_THAT(t.rows, SizeIs(3));
  EXPECT_THAT(t.rows, Each(SizeIs(t.columns.size())));
  EXPECT_EQ(t.rows[0].back(), "");
  EXPECT_EQ(t.rows[2].back(), "layers without a timing: relu1");
  const auto measured =
      std::ranges::find(t.columns, "measured_seconds", &column::title) - t.columns.begin();
  EXPECT_DOUBLE_EQ(std::stod(t.rows[0].at(static_cast<std::size_t>(measured))), 0.003125);
  EXPECT_EQ(t.rows[2].at(static_cast<std::size_t>(measured)), "");
}

}  // namespace report_validation_test
}  // namespace layerbench::report
