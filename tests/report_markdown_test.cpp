// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/report/markdown.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"

namespace layerbench::report {
namespace report_markdown_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<result::results> golden() { return {testing::chain_results()}; }

TEST(Markdown, HasTheSummaryTheLayersAndTheValidation) {
  const std::vector<result::results> files = golden();
  report_data of = report_data_of(files);
  for (auto& one : of.validation.cases) one.measured.disturbed = 0;  // or a ~ is escaped
  const std::string result = markdown(of);
  EXPECT_THAT(result, StartsWith("## layerbench\n\n" + text(overview(of))));
  const std::string title = analysis::headline(of.predictions.at(0));
  EXPECT_THAT(result, AllOf(HasSubstr("\n### " + title + "\n\n- "),
                            HasSubstr(text(layers_table(of.predictions.at(0)))),
                            HasSubstr(text(analysis::validation_table(of.validation)))));
  EXPECT_FALSE(remarks(of.validation).empty());
  for (const std::string& line : detail::lines(remarks(of.validation))) {
    EXPECT_THAT(result, HasSubstr("\n- " + line + '\n'));
  }
}

TEST(Markdown, HasTheHistoryOfSeveralDates) {
  std::vector<result::results> files = golden();
  files.push_back(files.front());
  files.back().context["date"] = "2026-02-03T04:05:06+00:00";
  files.back().file = "later.json";
  const report_data of = report_data_of(files);
  ASSERT_FALSE(of.history.steps.empty());
  EXPECT_THAT(history_title(of.history.steps.front()),
              mentions("tiny", "reference", "f32", "example CPU", "cache:model"));
  EXPECT_THAT(markdown(of), HasSubstr(history_title(of.history.steps.front()) + "\n\n" +
                                      text(history_table(of.history.steps.front()))));
  EXPECT_THAT(report_data_of(golden()).history.steps, ::testing::IsEmpty());
}

TEST(Markdown, EscapesWhatComesFromFiles) {
  std::vector<result::results> files = golden();
  files.front().file = "a|b<script>.json\n## c";
  for (auto& [model_case, step] : files.front().manifest) step.front().layer = "*x*[y](z)`|";
  const std::string result = markdown(report_data_of(files));
  EXPECT_THAT(result, AllOf(HasSubstr("a\\|b&lt;script>.json ## c"),
                            HasSubstr("\\*x\\*\\[y\\](z)\\`\\|"), Not(HasSubstr("<script>"))));
}

TEST(Markdown, KeepsItemsOfListsFromBecomingHeadings) {
  EXPECT_EQ(detail::to_markdown(std::vector<std::string>{"# a", "b # c"}), "- \\# a\n- b # c\n\n");
}

}  // namespace report_markdown_test
}  // namespace layerbench::report
