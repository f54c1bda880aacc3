// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/report/markdown.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/report/roofline_chart.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/page.hpp"
#include "support/peaks.hpp"

namespace layerbench::report {
namespace report_roofline_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::strings;

/// The example file with the FLOPs and the operands of its layers.
std::vector<result::results> golden() {
  std::vector files{testing::chain_results()};
  for (auto& [model_case, step] : files.front().manifest) {
    for (result::planned& planned : step) planned.traffic = {{100000, 0, false}, {100000, 0, true}};
  }
  for (result::measurement& row : files.front().rows) row.counters["flops_exact"] = 1e5;
  return files;
}

/// Peaks of the same machine.
std::vector<result::results> peaks() {
  std::vector files{testing::peak_file()};
  files.front().context = golden().front().context;
  return files;
}

analysis::options with(const std::vector<result::results>& known) {
  analysis::options chosen;
  chosen.peaks = known;
  return chosen;
}

/// The first groups of all matches in `text`.
strings matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  strings found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

class RooflineChart : public ::testing::Test {
 protected:
  std::vector<result::results> files_ = golden();
  std::vector<result::results> peaks_ = peaks();
  report_data of_ = report_data_of(files_, with(peaks_));
  analysis::prediction first_ = of_.predictions.at(0);

  [[nodiscard]] static std::string drawn(const analysis::prediction& p) {
    return svg::roofline_chart(p, svg::palette(std::vector{p})).html;
  }
};

TEST_F(RooflineChart, HasADotForEachLayerAtBothWidths) {
  ASSERT_TRUE(first_.limits);
  const std::string chart = drawn(first_);
  EXPECT_THAT(matches(chart, "<circle [^>]*cx=\"([0-9.]+)\""), SizeIs(2 * first_.layers.size()));
  for (const analysis::layer_time& layer : first_.layers) {
    EXPECT_THAT(
        matches(chart, "<circle [^>]*><title>([^<]*)</title>"),
        ::testing::Contains(testing::mentions(layer.call_name(), format::percent(layer.share))));
  }
  first_.layers.front().flops = 0;
  EXPECT_THAT(matches(drawn(first_), "<circle [^>]*cx=\"([0-9.]+)\""),
              SizeIs(2 * (first_.layers.size() - 1)));
  const strings description = matches(drawn(first_), "<figcaption>([^<]*)</figcaption>");
  ASSERT_THAT(description, SizeIs(1));
  EXPECT_THAT(description[0], testing::mentions("1", std::to_string(first_.layers.size())))
      << "how many layers have no dot";
}

TEST_F(RooflineChart, HasTheRoofsWithTheirNumbers) {
  EXPECT_THAT(drawn(first_), AllOf(HasSubstr(">100.0 GFLOP/s<"), HasSubstr(">memory 10.00 GB/s<"),
                                   HasSubstr(">l2 50.00 GB/s<")));
}

TEST_F(RooflineChart, PlacesALayerAtThePeakOnTheLineOfThePeak) {
  analysis::layer_time& layer = first_.layers.front();
  layer.flops = 100e9 * layer.seconds;
  first_.layers.resize(1);
  const std::string chart = drawn(first_);
  const strings line = matches(chart, "class=\"trend\" d=\"M[0-9.]+ ([0-9.]+)L[0-9.]+ \\1\"");
  ASSERT_THAT(line, SizeIs(2)) << "one per width";
  EXPECT_EQ(matches(chart, "<circle [^>]*cy=\"([0-9.]+)\""), line);
}

TEST_F(RooflineChart, IsNotDrawnWithoutPeaks) {
  first_.limits.reset();
  EXPECT_EQ(drawn(first_), "");
  const std::string plain = page(report_data_of(files_));
  EXPECT_THAT(matches(plain, "(class=\"trend\")"), ::testing::IsEmpty());
}

TEST_F(RooflineChart, IsOnThePageWithItsTables) {
  EXPECT_THAT(page(of_), HasSubstr(drawn(first_)));
  const json::value all = testing::read_page(page(of_));
  EXPECT_EQ(testing::rows(all, "case1", 2), analysis::worth_optimising_table(first_).rows);
  EXPECT_EQ(testing::rows(all, "case1", 3), analysis::bandwidths(*first_.limits).rows);
  EXPECT_THAT(markdown(of_), HasSubstr(text(analysis::worth_optimising_table(first_))));
}

TEST_F(RooflineChart, EscapesNames) {
  first_.layers.front().name = "<script>\"&";
  EXPECT_THAT(drawn(first_), AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>"))));
}

}  // namespace report_roofline_test
}  // namespace layerbench::report
