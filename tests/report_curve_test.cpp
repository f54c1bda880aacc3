// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/report/markdown.hpp>
#include <layerbench/report/page.hpp>

#include "support/timings.hpp"

namespace layerbench::report {
namespace report_curve_test {

using ::testing::HasSubstr;
using ::testing::Not;

/// A file with steps of these batches.
result::results file_with_batches(const std::vector<std::int64_t>& batches) {
  result::results file;
  file.file = "r.json";
  file.context = {{"device", "x"}, {"threads", "3"}};
  for (const std::int64_t batch : batches) {
    result::case_name model_case = testing::net;
    model_case.batch = batch;
    const std::string key = "k:" + std::to_string(batch);
    file.manifest[model_case] = {{"a", "conv", "fwd", key, 1}};
    const double seconds = 1e-3 * (1 + static_cast<double>(batch));
    const auto rows = testing::rounds(model_case, "a", key, std::vector<double>(5, seconds));
    file.rows.insert(file.rows.end(), rows.begin(), rows.end());
  }
  return file;
}

std::int64_t count(const std::string& text, const std::string& part) {
  std::int64_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ReportCurve, IsThereFromThreeSizesOn) {
  const std::vector two{file_with_batches({1, 16})};
  const std::string without = page(report_data_of(two));
  EXPECT_THAT(without, Not(HasSubstr("id=\"curves\"")));
  const std::vector three{file_with_batches({1, 4, 16})};
  const std::string with = page(report_data_of(three));
  const std::size_t begin = with.find("id=\"curves\"");
  ASSERT_NE(begin, with.npos);
  EXPECT_THAT(with, HasSubstr("href=\"#curves\""));
  const std::string section = with.substr(begin, with.find("</section>", begin) - begin);
  EXPECT_THAT(section, HasSubstr("images/s over batch"));
  EXPECT_THAT(section, HasSubstr("highest throughput: batch 16: "));
  EXPECT_EQ(count(section, "<circle"), 2 * 3) << "a dot for each measured batch, at two widths";
}

TEST(ReportCurve, IsInMarkdown) {
  const std::vector files{file_with_batches({1, 4, 16})};
  const std::string text = markdown(report_data_of(files));
  EXPECT_THAT(text, HasSubstr("net inference, reference f32, 3 threads, over batch"));
  EXPECT_THAT(text, HasSubstr("| interpolated |"));
}

}  // namespace report_curve_test
}  // namespace layerbench::report
