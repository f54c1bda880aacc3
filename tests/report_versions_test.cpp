// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/markdown.hpp>
#include <layerbench/report/page.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/page.hpp"

// Reports of files of several versions.

namespace layerbench::report {
namespace report_versions_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using testing::read_page;
using testing::rows;
using ::testing::SizeIs;
using testing::strings;

/// The example file, and one of another version in which all layers take 1.5 times as long.
std::vector<result::results> two_versions() {
  std::vector<result::results> files{testing::chain_results()};
  files.push_back(files.front());
  files.back().file = "new.json";
  files.back().context["layerbench_version"] = "0.2.0";
  for (result::measurement& row : files.back().rows) {
    row.seconds *= 1.5;
    if (row.counters.contains("mean_s")) row.counters["mean_s"] *= 1.5;
  }
  return files;
}

/// The cells of a table as the JSON of `layerbench compare` has them, with the bare verdict.
std::vector<strings> cells(const json::value& list, const char* title) {
  std::vector<strings> all;
  for (const json::value& value : list) {
    const auto number = [&](const char* name) { return value.at(name).get<double>(); };
    all.push_back({title == nullptr ? "" : value.at(title).get<std::string>(),
                   units::duration(number("old_seconds")), units::duration(number("new_seconds")),
                   fmt::format("{:.3f}", number("ratio")),
                   fmt::format("{:.3f} to {:.3f}", number("low"), number("high")),
                   value.at("verdict").get<std::string>()});
  }
  return all;
}

/// The rows of a table on the page, with the bare verdict: without what follows the first word.
std::vector<strings> comparison_rows(const json::value& page, std::size_t index) {
  std::vector<strings> all = rows(page, "comparison", index);
  for (strings& row : all) row.back().resize(std::min(row.back().size(), row.back().find(',')));
  return all;
}

TEST(Versions, AreComparedOnThePageAsCompareDoes) {
  const std::vector<result::results> files = two_versions();
  const json::value expected = to_json(analysis::compare({&files[0]}, {&files[1]}));
  const json::value all = read_page(page(report_data_of(files)));
  EXPECT_THAT(all.at("links").get<strings>(), Contains("#comparison"));
  std::vector<strings> models = comparison_rows(all, 0);
  for (strings& model : models) model.front() = "";  // the case
  EXPECT_THAT(models, Not(IsEmpty()));
  EXPECT_EQ(models, cells(expected.at("models"), nullptr));
  const std::vector<strings> layers = comparison_rows(all, 1);
  ASSERT_EQ(layers.size(), expected.at("layers").size());
  const std::vector<strings> expected_layers = cells(expected.at("layers"), "name");
  for (const strings& layer : layers) EXPECT_THAT(expected_layers, Contains(layer));
  EXPECT_THAT(layers, Each(Contains("1.500")));
}

TEST(Versions, AreComparedInMarkdown) {
  const std::vector<result::results> files = two_versions();
  const analysis::comparison all = analysis::compare({&files[0]}, {&files[1]});
  const std::string result = markdown(report_data_of(files));
  EXPECT_THAT(comparison_title(all), mentions(files[0].file, "new.json"));
  EXPECT_THAT(result,
              AllOf(HasSubstr(comparison_title(all) + '\n'), HasSubstr(text(models_table(all))),
                    HasSubstr(text(layers_table(all)))));
  for (const std::string& line : detail::lines(comparison_header(all) + remarks(all))) {
    EXPECT_THAT(result, HasSubstr("\n- " + line + '\n'));
  }
}

TEST(Versions, AreEachComparedWithTheFirst) {
  std::vector<result::results> files = two_versions();
  files.push_back(files.front());  // a second run of the old one
  files.push_back(files.front());
  files.back().file = "newest.json";
  files.back().context["layerbench_version"] = "0.3.0";
  const report_data of = report_data_of(files);
  ASSERT_THAT(of.comparisons, SizeIs(2));
  for (const analysis::comparison& comparison : of.comparisons) {
    EXPECT_THAT(comparison.old_files, ElementsAre(files[0].file, files[0].file));
  }
  EXPECT_THAT(of.comparisons[0].new_files, ElementsAre("new.json"));
  EXPECT_THAT(of.comparisons[1].new_files, ElementsAre("newest.json"));
  EXPECT_THAT(of.uncompared, IsEmpty());
}

TEST(Versions, AreNotComparedWhereMoreDiffers) {
  std::vector<result::results> files = two_versions();
  files.back().context["device"] = "another CPU";
  const report_data of = report_data_of(files);
  EXPECT_THAT(of.comparisons, IsEmpty());
  ASSERT_THAT(of.uncompared, ElementsAre(mentions("new.json", "device", "layerbench_version")));
  EXPECT_THAT(page(of),
              AllOf(HasSubstr(escaped(of.uncompared[0]).html), HasSubstr("id=\"comparison\"")));
  EXPECT_THAT(markdown(of), HasSubstr("\n- " + detail::plain(of.uncompared[0]) + '\n'));
}

TEST(Versions, AreNotComparedInTheReportOfOne) {
  const std::vector<result::results> files = two_versions();
  EXPECT_FALSE(report_data_of({files.data(), 1}).has_comparison());
  EXPECT_THAT(page(report_data_of({files.data(), 1})), Not(HasSubstr("id=\"comparison\"")));
}

}  // namespace report_versions_test
}  // namespace layerbench::report
