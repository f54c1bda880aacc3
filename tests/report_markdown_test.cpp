// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/report/markdown.hpp>
#include <layerbench/result/google_json.hpp>

namespace layerbench::report {
namespace report_markdown_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<result::results> golden() {
  return {result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json")};
}

TEST(Markdown, HasTheSummaryTheLayersAndTheValidation) {
  const std::vector<result::results> files = golden();
  const report_data of = analysis::report_data_of(files);
  const std::string result = markdown(of);
  EXPECT_THAT(result, StartsWith("## layerbench\n\n| model | phase "));
  EXPECT_THAT(result,
              AllOf(HasSubstr(text(overview(of.predictions))),
                    HasSubstr("\n### tiny inference, reference f32, batch 2, 1 thread\n\n- "),
                    HasSubstr(text(layers_table(of.predictions.at(0)))),
                    HasSubstr("### Validation\n\n| case "),
                    HasSubstr(text(analysis::validation_table(of.validation))),
                    HasSubstr("- predicted: mean absolute error"), HasSubstr("cache:model")));
  EXPECT_THAT(result, Not(HasSubstr("History")));
}

TEST(Markdown, HasTheHistoryOfSeveralDates) {
  std::vector<result::results> files = golden();
  files.push_back(files.front());
  files.back().context["date"] = "2026-02-03T04:05:06+00:00";
  files.back().file = "later.json";
  EXPECT_THAT(markdown(analysis::report_data_of(files)),
              HasSubstr("### History: tiny inference, reference f32, batch 2, 1 thread, example "
                        "CPU, cache:model\n\n| date "));
}

TEST(Markdown, EscapesWhatComesFromFiles) {
  std::vector<result::results> files = golden();
  files.front().file = "a|b<script>.json\n## c";
  for (auto& [configuration, step] : files.front().manifest) step.front().layer = "*x*[y](z)`|";
  const std::string result = markdown(analysis::report_data_of(files));
  EXPECT_THAT(result, AllOf(HasSubstr("a\\|b&lt;script>.json ## c"),
                            HasSubstr("\\*x\\*\\[y\\](z)\\`\\|"), Not(HasSubstr("<script>"))));
}

}  // namespace report_markdown_test
}  // namespace layerbench::report
