// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/report/markdown.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/result/google_json.hpp>

#include "support/page.hpp"

// Reports of files that differ in what they were measured with.

namespace layerbench::report {
namespace report_versions_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::read_page;
using testing::rows;
using ::testing::SizeIs;
using testing::strings;

/// The golden file, and one of another version in which all takes half as long again.
std::vector<result::results> two_versions() {
  std::vector<result::results> files{
      result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json")};
  files.push_back(files.front());
  files.back().file = "new.json";
  files.back().context["layerbench_version"] = "0.2.0";
  for (result::measurement& row : files.back().rows) {
    row.seconds *= 1.5;
    if (row.counters.contains("mean_s")) row.counters["mean_s"] *= 1.5;
  }
  return files;
}

/// The cells of a table as the JSON of `layerbench compare` has them.
std::vector<strings> cells(const json::value& list, const char* title) {
  std::vector<strings> all;
  for (const json::value& value : list) {
    const auto number = [&](const char* name) { return value.at(name).get<double>(); };
    all.push_back({title == nullptr ? "" : value.at(title).get<std::string>(),
                   units::duration(number("old_seconds")), units::duration(number("new_seconds")),
                   fmt::format("{:.3f}", number("ratio")),
                   fmt::format("{:.3f} to {:.3f}", number("low"), number("high")),
                   value.at("verdict").get<std::string>() +
                       (value.at("p").is_null() ? ", too few rounds" : "")});
  }
  return all;
}

TEST(Versions, AreComparedOnThePageAsCompareDoes) {
  const std::vector<result::results> files = two_versions();
  const json::value expected = to_json(analysis::compare({&files[0]}, {&files[1]}));
  const json::value all = read_page(page(analysis::report_data_of(files)));
  EXPECT_THAT(all.at("headings").get<strings>(), Contains("h2 Comparison"));
  EXPECT_THAT(all.at("links").get<strings>(), Contains("#comparison"));
  std::vector<strings> models = rows(all, "Predicted steps, old and new");
  for (strings& model : models) model.front() = "";  // the case in words
  EXPECT_THAT(models, Not(IsEmpty()));
  EXPECT_EQ(models, cells(expected.at("models"), nullptr));
  const std::vector<strings> layers = rows(all, "Layers, old and new");
  ASSERT_EQ(layers.size(), expected.at("layers").size());
  const std::vector<strings> expected_layers = cells(expected.at("layers"), "name");
  for (const strings& layer : layers) EXPECT_THAT(expected_layers, Contains(layer));
  EXPECT_THAT(layers, Each(Contains("1.500")));
}

TEST(Versions, AreComparedInMarkdown) {
  const std::vector<result::results> files = two_versions();
  const analysis::comparison all = analysis::compare({&files[0]}, {&files[1]});
  const std::string result = markdown(analysis::report_data_of(files));
  EXPECT_THAT(result, AllOf(HasSubstr("\n### Comparison: new.json against "),
                            HasSubstr("\n- across version, as the files differ in nothing else"),
                            HasSubstr(text(models_table(all))), HasSubstr(text(layers_table(all))),
                            HasSubstr(" layers: 0 faster, ")));
}

TEST(Versions, AreEachHeldAgainstTheFirst) {
  std::vector<result::results> files = two_versions();
  files.push_back(files.front());  // a second run of the old one
  files.push_back(files.front());
  files.back().file = "newest.json";
  files.back().context["layerbench_version"] = "0.3.0";
  const report_data of = analysis::report_data_of(files);
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
  const report_data of = analysis::report_data_of(files);
  EXPECT_THAT(of.comparisons, IsEmpty());
  EXPECT_THAT(of.uncompared,
              ElementsAre(AllOf(HasSubstr("new.json"), HasSubstr("device layerbench_version"))));
  const std::string result = page(of);
  EXPECT_THAT(result,
              AllOf(HasSubstr("device layerbench_version"), HasSubstr("id=\"comparison\"")));
  EXPECT_THAT(markdown(of), HasSubstr("### Comparison\n\n- not compared; "));
}

TEST(Versions, AreNoPartOfAReportOfOne) {
  const std::vector<result::results> files = two_versions();
  EXPECT_FALSE(analysis::report_data_of({files.data(), 1}).has_comparison());
  EXPECT_THAT(page(analysis::report_data_of({files.data(), 1})),
              Not(HasSubstr("id=\"comparison\"")));
}

}  // namespace report_versions_test
}  // namespace layerbench::report
