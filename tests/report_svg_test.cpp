// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/report/op_breakdown_chart.hpp>
#include <layerbench/report/time_series_chart.hpp>

namespace layerbench::report {
namespace report_svg_test {

using ::testing::ElementsAre;

TEST(Html, EscapesTextsAndAttributes) {
  EXPECT_EQ(escaped("<a href='x'>&\"").html, "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
  EXPECT_EQ(element("p", escaped("<"), {{"title", "\">"}}).html,
            "<p title=\"&quot;&gt;\">&lt;</p>");
  EXPECT_EQ(escaped("\x01\xff\xc3\xa4\n").html, "\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4\n");
}

TEST(OpBreakdownChart, PlacesLabelsWithoutOverlap) {
  std::vector<svg::detail::flag> flags{{"a long text", 0}, {"another one", 40}, {"short", 80}};
  flags.push_back({"far away", 400});
  EXPECT_EQ(svg::detail::place(flags), 3U);
  std::vector<std::string> lines;
  for (const auto& flag : flags) lines.push_back(std::to_string(flag.line));
  EXPECT_THAT(lines, ElementsAre("2", "1", "0", "0"));
}

TEST(HistoryChart, NamesDaysOrTheHoursOfOneDay) {
  analysis::time_series of{{}, 1, "", "", {}};
  for (const char* date : {"2026-01-02T03:04:05+00:00", "2026-01-02T23:24:25+00:00"}) {
    of.points.push_back({{}, date, {}, {}});
  }
  EXPECT_THAT(svg::detail::date_labels(of), ElementsAre("03:04", "23:24"));
  of.points.front().date = "2026-01-01T03:04:05+00:00";
  EXPECT_THAT(svg::detail::date_labels(of), ElementsAre("2026-01-01", "2026-01-02"));
}

}  // namespace report_svg_test
}  // namespace layerbench::report
