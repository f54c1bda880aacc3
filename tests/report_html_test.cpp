// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/validation_json.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/result/google_json.hpp>

#include "support/page.hpp"

namespace layerbench::report {
namespace report_html_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::Not;
using testing::read_page;
using testing::rows;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::strings;

const std::vector<result::results>& golden() {
  static const std::vector files{
      result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json")};
  return files;
}

TEST(Page, NeedsNothingElseAndRunsNothing) {
  const std::string result = page(analysis::report_data_of(golden()));
  EXPECT_THAT(result, StartsWith("<!DOCTYPE html>\n<html lang=\"en\">"));
  for (const char* entry : {"http", "<script", "@import", "src=", "javascript:", "url(\""}) {
    EXPECT_THAT(result, Not(HasSubstr(entry)));
  }
  EXPECT_EQ(result, page(analysis::report_data_of(golden())));
  const json::value all = read_page(result);
  for (const char* element : {"script", "link", "img", "iframe", "object", "image", "use"}) {
    EXPECT_THAT(all.at("tags").get<strings>(), Not(Contains(element)));
  }
  for (const auto& item : all.at("attributes")) {
    EXPECT_THAT(item.get<std::string>(), Not(StartsWith("on")));
  }
}

TEST(Page, HasOneTitleAndASectionForEachPart) {
  const json::value all = read_page(page(analysis::report_data_of(golden())));
  EXPECT_THAT(all.at("headings").get<strings>(),
              ElementsAre("h1 layerbench: tiny, small", "h2 Summary", "h2 Cases", "h2 Validation",
                          "h2 Conditions", "h2 How to read this"));
  EXPECT_THAT(all.at("scopes").get<strings>(), ElementsAre("col", "row"));
  EXPECT_THAT(all.at("unnamed"), IsEmpty());
  const auto ids = all.at("ids").get<strings>();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  for (const std::string& name : all.at("links").get<strings>()) {
    EXPECT_THAT(ids, Contains(name.substr(1)));
  }
  for (const std::string& string : all.at("fills").get<strings>()) {
    EXPECT_THAT(ids, Contains(string.substr(5, string.size() - 6))) << string;
  }
}

/// The cells of the summary as the JSON has them.
strings summary_cells(const json::value& p) {
  const auto text = [&](const char* name) { return p.at(name).get<std::string>(); };
  const auto whole = [&](const char* name) { return std::to_string(p.at(name).get<int>()); };
  const auto seconds = [&](const char* name) {
    return p.at(name).is_null() ? "" : format::milliseconds(p.at(name).get<double>());
  };
  const bool refused = p.at("seconds_per_step").is_null();
  return {text("model"),
          text("phase"),
          text("backend"),
          text("dtype"),
          whole("batch"),
          whole("threads"),
          refused ? "refused" : format::four_digits(p.at("images_per_second").get<double>()),
          refused ? "refused" : seconds("seconds_per_step"),
          refused ? "" : seconds("seconds_low") + " to " + seconds("seconds_high"),
          seconds("naive_seconds"),
          format::coverage(p.at("coverage").get<double>()),
          text("method")};
}

TEST(Page, HasTheNumbersOfThePrediction) {
  const report_data of = analysis::report_data_of(golden());
  const json::value expected = to_json(of.predictions).at("predictions");
  const json::value all = read_page(page(of));
  const std::vector<strings> summary = rows(all, "Time of a step, and images/s");
  ASSERT_EQ(summary.size(), expected.size());
  std::vector<strings> layers;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    strings cells = summary[i];
    cells.erase(cells.end() - 2);  // the note
    EXPECT_EQ(cells, summary_cells(expected[i]));
    auto sorted = expected[i].at("layers").get<std::vector<json::value>>();
    std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const json::value& element) {
      return element.at("share").get<double>();
    });
    for (const json::value& value : sorted) {
      const auto duration = [&](const char* name) {
        return units::duration(value.at(name).get<double>());
      };
      layers.push_back({value.at("name").get<std::string>(), value.at("op").get<std::string>(),
                        std::to_string(value.at("count").get<int>()), duration("seconds"),
                        duration("seconds_low") + " to " + duration("seconds_high"),
                        format::percent(value.at("share").get<double>())});
    }
  }
  std::vector<strings> shown = rows(all, "Layers with most of the step's time");
  for (strings& item : shown) item.pop_back();
  EXPECT_EQ(shown, layers);
}

TEST(Page, DrawsTheSameNumbers) {
  const report_data of = analysis::report_data_of(golden());
  const json::value all = read_page(page(of));
  std::set<std::string> shares;
  for (const analysis::prediction& p : of.predictions) {
    for (const analysis::layer_time& layer : p.layers) {
      shares.insert({layer.call_name(), format::percent(layer.share)});
    }
    for (const auto& [op, share] : analysis::shares_by_op(p)) {
      shares.insert(op + ' ' + format::percent(share));
    }
  }
  std::size_t drawn = 0;
  for (const json::value& value : all.at("drawings")) {
    if (value.at(0).get<std::string>().starts_with("Errors")) continue;
    ++drawn;
    EXPECT_THAT(value.at(1).get<strings>(), IsSubsetOf(shares)) << value.at(0);
  }
  EXPECT_EQ(drawn, 2 * of.predictions.size());
}

TEST(Page, HoldsPredictionsAgainstSteps) {
  const report_data of = analysis::report_data_of(golden());
  const json::value all = read_page(page(of));
  const json::value cases = to_json(of.validation).at("cases");
  const std::vector<strings> table =
      rows(all, "Predictions against steps that ran as a whole, in ms");
  EXPECT_EQ(table, analysis::validation_table(of.validation).rows);
  ASSERT_EQ(table.size(), cases.size());
  strings labels;
  for (const json::value& item : all.at("drawings")) {
    if (item.at(0).get<std::string>().starts_with("Errors")) labels = item.at(1).get<strings>();
  }
  for (const json::value& value : cases) {
    const double error = value.at("error");
    const double naive = value.at("naive_error");
    EXPECT_THAT(
        labels,
        Contains(StartsWith(fmt::format("{:+.1f} % (naive {:+.1f} %)", 100 * error, 100 * naive))));
  }
}

TEST(Page, HasWhatEachFileSaysOfItsRun) {
  const json::value all = read_page(page(analysis::report_data_of(golden())));
  const std::string& file = golden().front().file;
  EXPECT_THAT(rows(all, "Files"),
              ElementsAre(ElementsAre(file, "2026-01-02T03:04:05+00:00", "example CPU", "1",
                                      "0.1.0", "not checked", "whole")));
  EXPECT_THAT(rows(all, "What " + file + " says of its run"),
              SizeIs(golden().front().context.size()));
}

TEST(Page, EscapesHostileNames) {
  std::vector<result::results> files = golden();
  const std::string hostile = "\"><script>alert('1')</script></svg>&\x01\xff";
  files.front().file = hostile;
  files.front().context["device"] = hostile;
  files.front().context[hostile] = hostile;
  for (auto& [configuration, step] : files.front().manifest) step.front().layer = hostile;
  for (result::measurement& row : files.front().chains) {
    if (row.name.configuration.model == "small") row.error = hostile;
  }
  const std::string result = page(analysis::report_data_of(files));
  EXPECT_THAT(result, Not(HasSubstr("<script")));
  const json::value all = read_page(result);
  EXPECT_THAT(all.at("tags").get<strings>(), Not(Contains("script")));
  const std::vector<strings> sources = rows(all, "Files");
  ASSERT_THAT(sources, SizeIs(1));
  EXPECT_THAT(sources[0][0], StartsWith("\"><script>alert('1')</script></svg>&"));
  EXPECT_THAT(sources[0][0], Not(HasSubstr("\xff")));
}

TEST(Page, SaysWhatToMind) {
  std::vector<result::results> files = golden();
  files.push_back(files.front());
  for (result::measurement& row : files.front().rows) row.counters["disturbed"] = 1;
  files.front().context["machine_check"] = "steal speed";
  files.front().context["interrupted"] = "1";
  files.back().file = "other.json";
  files.back().context["device"] = "another CPU";
  EXPECT_THAT(
      warnings(analysis::report_data_of(files, {.models = {}, .allow_partial = true})),
      ::testing::AllOf(Contains(HasSubstr("not fit: steal speed")),
                       Contains(HasSubstr("measuring was interrupted")),
                       Contains(HasSubstr("PARTIAL: coverage")),
                       Contains(HasSubstr("3 of 6 cases are marked disturbed: something else")),
                       Contains(HasSubstr("differ in device"))));
}

TEST(Page, TellsCasesOfDifferentFilesApart) {
  std::vector<result::results> files = golden();
  EXPECT_EQ(overview(analysis::report_data_of(files).predictions).columns.back().title, "method");
  files.push_back(files.front());
  files.back().file = "other.json";
  EXPECT_EQ(overview(analysis::report_data_of(files).predictions).columns.back().title, "method");
  files.back().context["device"] = "another CPU";
  const report_data of = analysis::report_data_of(files);
  const table t = overview(of.predictions);
  ASSERT_THAT(t.rows, SizeIs(6));
  EXPECT_EQ(t.columns.back().title, "files");
  EXPECT_EQ(t.rows.back().back(), "other.json");
  EXPECT_THAT(page(of), HasSubstr("<h3>tiny inference, reference f32, batch 2, 1 thread: "
                                  "other.json</h3>"));
}

TEST(Page, ShowsHowStepsWentFromDateToDate) {
  std::vector<result::results> files = golden();
  files.push_back(files.front());
  files.back().file = "later.json";
  files.back().context["date"] = "2026-02-03T04:05:06+00:00";
  files.back().context["onednn_version"] = "4.0.0";
  for (result::measurement& row : files.back().rows) {
    row.seconds *= 2;
    if (row.counters.contains("mean_s")) row.counters["mean_s"] *= 2;
  }
  const json::value all = read_page(page(analysis::report_data_of(files)));
  EXPECT_THAT(all.at("headings").get<strings>(), Contains("h2 History"));
  const std::vector<strings> table =
      rows(all, "tiny inference, reference f32, batch 2, 1 thread, example CPU, cache:model");
  ASSERT_THAT(table, SizeIs(2));
  EXPECT_THAT(table[0], ElementsAre("2026-01-02T03:04:05+00:00", "3.100", ::testing::_, "", "", "",
                                    files.front().file));
  EXPECT_THAT(table[1], ElementsAre("2026-02-03T04:05:06+00:00", "6.200", ::testing::_, "+100.0 %",
                                    "changed", "onednn_version", "later.json"));
}

}  // namespace report_html_test
}  // namespace layerbench::report
