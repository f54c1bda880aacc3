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

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/page.hpp"

namespace layerbench::report {
namespace report_html_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using testing::mentions;
using ::testing::Not;
using testing::read_page;
using testing::rows;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::strings;

const std::vector<result::results>& golden() {
  static const std::vector files{testing::chain_results()};
  return files;
}

TEST(Page, IsOneFileWithoutScriptsOrLinksToOthers) {
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

TEST(Page, HasOneTitleAndALinkedSectionForEachPart) {
  const json::value all = read_page(page(analysis::report_data_of(golden())));
  EXPECT_THAT(all.at("sections").get<strings>(),
              ElementsAre("summary", "cases", "case1", "case2", "case3", "validation", "conditions",
                          "reading"));
  const auto headings = all.at("headings").get<strings>();
  ASSERT_THAT(headings, SizeIs(1 + 5));
  EXPECT_THAT(headings.front(), AllOf(StartsWith("h1 "), mentions("layerbench", "tiny", "small")));
  EXPECT_THAT(std::vector(headings.begin() + 1, headings.end()), Each(StartsWith("h2 ")));
  EXPECT_THAT(all.at("captions").get<strings>(), Each(Not(IsEmpty())));
  EXPECT_THAT(all.at("scopes").get<strings>(), ElementsAre("col", "row"));
  EXPECT_THAT(all.at("unnamed"), IsEmpty());
  const auto ids = all.at("ids").get<strings>();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  const auto links = all.at("links").get<strings>();
  for (const std::string& name : links) EXPECT_THAT(ids, Contains(name.substr(1)));
  for (const json::value& section : all.at("sections")) {
    EXPECT_THAT(links, Contains("#" + section.get<std::string>()));
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
  const bool refused = p.at("seconds_per_step").is_null();  // with a word in place of numbers
  return {text("model"),
          text("phase"),
          text("backend"),
          text("dtype"),
          whole("batch"),
          whole("threads"),
          refused ? "" : format::four_digits(p.at("images_per_second").get<double>()),
          refused ? "" : seconds("seconds_per_step"),
          refused ? ""
                  : format::range(p.at("seconds_low").get<double>(),
                                  p.at("seconds_high").get<double>()),
          seconds("naive_seconds"),
          format::coverage(p.at("coverage").get<double>()),
          text("method")};
}

TEST(Page, HasTheNumbersOfThePrediction) {
  const report_data of = analysis::report_data_of(golden());
  const json::value expected = to_json(of.predictions).at("predictions");
  const json::value all = read_page(page(of));
  const std::vector<strings> summary = rows(all, "summary");
  ASSERT_EQ(summary.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::vector<strings> layers;
    strings cells = summary[i];
    cells.erase(cells.end() - 2);  // the note
    if (expected[i].at("seconds_per_step").is_null()) {
      EXPECT_THAT(cells[6] + cells[7], Not(::testing::ContainsRegex("[0-9]")));
      cells[6] = cells[7] = "";
    }
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
    std::vector<strings> shown = rows(all, fmt::format("case{}", i + 1), 1);
    for (strings& item : shown) item.pop_back();
    EXPECT_EQ(shown, layers);
  }
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
    if (!value.at(0).get<std::string>().starts_with("case")) continue;
    ++drawn;
    EXPECT_THAT(value.at(1).get<strings>(), IsSubsetOf(shares)) << value.at(0);
  }
  EXPECT_EQ(drawn, 2 * of.predictions.size());
}

TEST(Page, HasTheValidation) {
  const report_data of = analysis::report_data_of(golden());
  const json::value all = read_page(page(of));
  const json::value cases = to_json(of.validation).at("cases");
  const std::vector<strings> table = rows(all, "validation");
  EXPECT_EQ(table, analysis::validation_table(of.validation).rows);
  ASSERT_EQ(table.size(), cases.size());
  strings labels;
  for (const json::value& item : all.at("drawings")) {
    if (item.at(0) == "validation") labels = item.at(1).get<strings>();
  }
  for (const json::value& value : cases) {
    const double error = value.at("error");
    const double naive = value.at("naive_error");
    EXPECT_THAT(labels, Contains(mentions(fmt::format("{:+.1f} %", 100 * error),
                                          fmt::format("{:+.1f} %", 100 * naive))));
  }
}

TEST(Page, HasTheContextOfEachFile) {
  const json::value all = read_page(page(analysis::report_data_of(golden())));
  const std::string& file = golden().front().file;
  const auto row_with = [&](const auto& machine, const auto& run) {
    return ElementsAre(file, "2026-01-02T03:04:05+00:00", "example CPU", "1", "0.1.0", machine,
                       run);
  };
  EXPECT_THAT(rows(all, "conditions"),
              ElementsAre(row_with(Not(HasSubstr("steal")), Not(HasSubstr("interrupted")))));
  EXPECT_THAT(rows(all, "conditions", 1), SizeIs(golden().front().context.size()));
  std::vector<result::results> files = golden();
  files.front().context["machine_check"] = "steal speed";
  files.front().context["interrupted"] = "1";
  EXPECT_THAT(files_table(files).rows,
              ElementsAre(row_with(mentions("steal", "speed"), mentions("interrupted"))));
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
  const std::vector<strings> sources = rows(all, "conditions");
  ASSERT_THAT(sources, SizeIs(1));
  EXPECT_THAT(sources[0][0], StartsWith("\"><script>alert('1')</script></svg>&"));
  EXPECT_THAT(sources[0][0], Not(HasSubstr("\xff")));
}

TEST(Page, WarnsOfDisturbancesGapsAndDifferingFiles) {
  std::vector<result::results> files = golden();
  files.push_back(files.front());
  for (result::measurement& row : files.front().rows) row.counters["disturbed"] = 1;
  files.front().context["machine_check"] = "steal speed";
  files.front().context["interrupted"] = "1";
  files.back().file = "other.json";
  files.back().context["device"] = "another CPU";
  EXPECT_THAT(warnings(analysis::report_data_of(files, {.models = {}, .allow_partial = true})),
              AllOf(Contains(mentions(files.front().file, "steal", "speed")),
                    Contains(mentions(files.front().file, "interrupted")),
                    Contains(AllOf(mentions("tiny", "relu1"), HasSubstr("PARTIAL"))),
                    Contains(mentions("3", "6", "disturbed")),
                    Contains(mentions(files.front().file, "other.json", "device"))));
  EXPECT_THAT(warnings(analysis::report_data_of(golden(), {.models = {"small"}})), IsEmpty());
}

TEST(Page, NamesTheFilesOfEachCaseWhereContextsDiffer) {
  std::vector<result::results> files = golden();
  const std::size_t columns = overview(analysis::report_data_of(files).predictions).columns.size();
  files.push_back(files.front());
  files.back().file = "other.json";
  EXPECT_THAT(overview(analysis::report_data_of(files).predictions).columns, SizeIs(columns));
  files.back().context["device"] = "another CPU";
  const report_data of = analysis::report_data_of(files);
  const table t = overview(of.predictions);
  ASSERT_THAT(t.rows, SizeIs(6));
  EXPECT_THAT(t.columns, SizeIs(columns + 1));
  EXPECT_EQ(t.rows.front().back(), files.front().file);
  EXPECT_EQ(t.rows.back().back(), "other.json");
  const std::string title = case_title(of, of.predictions.back());
  EXPECT_THAT(title, mentions("other.json", analysis::headline(of.predictions.back())));
  EXPECT_THAT(page(of), HasSubstr("<h3>" + title + "</h3>"));
}

TEST(Page, HasTheHistoryOfEachCase) {
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
  EXPECT_THAT(all.at("captions").get<strings>(),
              Contains(mentions("tiny", "reference", "f32", "example CPU", "cache:model")));
  const std::vector<strings> table = rows(all, "history");
  ASSERT_THAT(table, SizeIs(2));
  EXPECT_THAT(table[0], ElementsAre("2026-01-02T03:04:05+00:00", "3.100", ::testing::_, "", "", "",
                                    files.front().file));
  EXPECT_THAT(table[1], ElementsAre("2026-02-03T04:05:06+00:00", "6.200", ::testing::_, "+100.0 %",
                                    "changed", "onednn_version", "later.json"));
}

}  // namespace report_html_test
}  // namespace layerbench::report
