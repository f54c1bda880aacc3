// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/validate/json.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/markdown.hpp>
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
  const std::string result = page(report_data_of(golden()));
  EXPECT_THAT(result, StartsWith("<!DOCTYPE html>\n<html lang=\"en\">"));
  for (const char* entry : {"http", "<script", "@import", "src=", "javascript:", "url(\""}) {
    EXPECT_THAT(result, Not(HasSubstr(entry)));
  }
  EXPECT_EQ(result, page(report_data_of(golden())));
  const json::value all = read_page(result);
  for (const char* element : {"script", "link", "img", "iframe", "object", "image", "use"}) {
    EXPECT_THAT(all.at("tags").get<strings>(), Not(Contains(element)));
  }
  for (const auto& item : all.at("attributes")) {
    EXPECT_THAT(item.get<std::string>(), Not(StartsWith("on")));
  }
}

TEST(Page, HasOneTitleAndALinkedSectionForEachPart) {
  const json::value all = read_page(page(report_data_of(golden())));
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

/// The numbers of the headline's row as the JSON of `predict` and `validate` has them.
strings headline_cells(const json::value& p, const json::value& validations) {
  if (p.at("seconds_per_step").is_null()) return {"refused", "", "", "", "refused"};
  const auto milliseconds = [](const json::value& of, const char* name) {
    return format::milliseconds(of.at(name).get<double>());
  };
  strings cells{milliseconds(p, "seconds_per_step"),
                milliseconds(p, "seconds_low") + " to " + milliseconds(p, "seconds_high"), "", "",
                format::four_digits(p.at("images_per_second").get<double>())};
  for (const json::value& one : validations) {
    if (one.at("case") != p.at("case")) continue;
    cells[2] = milliseconds(one, "measured_seconds");
    cells[3] = format::signed_percent(one.at("error").get<double>());
  }
  return cells;
}

TEST(Page, StartsWithWhatWasPredictedAndMeasuredWhere) {
  report_data of = report_data_of(golden());
  for (auto& one : of.validation.cases) one.measured.disturbed = 0;  // or texts are rounded
  const json::value expected = to_json(of.predictions).at("predictions");
  const json::value validations = to_json(of.validation).at("cases");
  const json::value all = read_page(page(of));
  const std::vector<strings> summary = rows(all, "summary");
  ASSERT_EQ(summary.size(), expected.size());
  std::size_t measured = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_THAT(summary[i].front(), mentions(expected[i].at("model").get<std::string>()));
    const strings cells(summary[i].begin() + 1, summary[i].end() - 1);  // without case and note
    EXPECT_EQ(cells, headline_cells(expected[i], validations));
    const std::string coverage = format::coverage(expected[i].at("coverage").get<double>());
    EXPECT_EQ(summary[i].back().find(coverage) != std::string::npos, coverage != "100.0 %");
    if (!cells[2].empty()) ++measured;
  }
  EXPECT_EQ(measured, validations.size());
  const strings known = facts(of);
  EXPECT_THAT(known, AllOf(Contains(mentions("example CPU")), Contains(mentions("reference")),
                           Contains(mentions("2026-01-02")),
                           Contains(mentions("inference", "reference", "f32"))));
  const std::string result = page(of);
  std::size_t before = result.find("<h1>");
  for (const std::string& fact : known) {
    const std::size_t at = result.find("<li>" + escaped(fact).html + "</li>");
    EXPECT_LT(before, at) << fact;
    EXPECT_LT(at, result.find("<table"));
    before = at;
  }
  EXPECT_EQ(all.at("tables").at(0).at(0), "summary");
}

TEST(Page, HasTheLayersOfThePrediction) {
  const report_data of = report_data_of(golden());
  const json::value expected = to_json(of.predictions).at("predictions");
  const json::value all = read_page(page(of));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::vector<strings> layers;
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

/// The shares that a bar of the page is divided into.
std::vector<std::vector<double>> drawn_shares(const std::string& page) {
  static const std::regex rectangle("<rect class=\"bar\" x=\"[0-9.]+%\" width=\"([0-9.]+)%\"");
  std::vector<std::vector<double>> all;
  const std::string opening = "<svg class=\"shares\"";
  for (std::size_t at = page.find(opening); at != std::string::npos;
       at = page.find(opening, at + 1)) {
    const std::string drawing = page.substr(at, page.find("</svg>", at) - at);
    std::vector<double>& shares = all.emplace_back();
    for (std::sregex_iterator found(drawing.begin(), drawing.end(), rectangle), end; found != end;
         ++found) {
      shares.push_back(std::stod((*found)[1]) / 100);
    }
  }
  return all;
}

TEST(Page, DrawsTheSharesThatItsTableHas) {
  const report_data of = report_data_of(golden());
  const std::string result = page(of);
  const std::vector<std::vector<double>> drawn = drawn_shares(result);
  ASSERT_THAT(drawn, SizeIs(of.predictions.size()));
  const json::value all = read_page(result);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::vector<strings> table = rows(all, fmt::format("case{}", i + 1));
    const analysis::share_list shares = analysis::shares_by_op(of.predictions[i]);
    ASSERT_EQ(drawn[i].size(), shares.size());
    ASSERT_EQ(table.size(), shares.size());
    for (std::size_t k = 0; k < shares.size(); ++k) {
      EXPECT_NEAR(drawn[i][k], shares[k].second, 1e-4);
      EXPECT_EQ(table[k].at(0), shares[k].first);
      EXPECT_EQ(table[k].at(1), format::percent(shares[k].second));
    }
    EXPECT_THAT(result, Not(HasSubstr(escaped(analysis::shares_text(shares)).html)))
        << "one place for shares";
  }
}

TEST(Page, SaysOnceThatBottlenecksAreNotKnown) {
  const report_data of = report_data_of(golden());
  ASSERT_GT(of.predictions.size(), 1U);
  for (const std::string& text : {page(of), markdown(of)}) {
    const std::size_t at = text.find("bench_peak");
    EXPECT_NE(at, std::string::npos);
    EXPECT_EQ(text.find("bench_peak", at + 1), std::string::npos);
  }
}

TEST(Page, FitsScreensOfAnyWidth) {
  const std::string long_name = std::string(200, 'x');
  std::vector<result::results> files = golden();
  for (auto& [model_case, step] : files.front().manifest) step.front().layer = long_name;
  files.front().file = long_name + ".json";
  const std::string result = page(report_data_of(files));
  const json::value all = read_page(result);
  for (const json::value& table : all.at("shapes")) {
    const auto titles = table.at("titles").get<strings>();
    EXPECT_EQ(table.at("class"), titles.size() > 3 ? "many" : "few");
    for (const json::value& labels : table.at("labels")) {
      const strings expected(titles.begin() + 1, titles.end());
      EXPECT_EQ(table.at("class") == "many", labels == json::value(expected));
    }
    for (const json::value& part : table.at("parts")) {
      EXPECT_LE(part.get<std::string>().size(), 24U) << "a browser cannot break it";
    }
  }
  EXPECT_THAT(all.at("charts").get<strings>(), Each(::testing::AnyOf("broad", "narrow", "shares")));
  EXPECT_THAT(all.at("charts").get<strings>(), AllOf(Contains("broad"), Contains("narrow")));
  EXPECT_THAT(all.at("attributes").get<strings>(), Not(Contains("style")));
}

TEST(Page, HasTheValidation) {
  report_data of = report_data_of(golden());
  for (auto& one : of.validation.cases) one.measured.disturbed = 0;  // or texts are rounded
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
  const json::value all = read_page(page(report_data_of(golden())));
  const std::string& file = golden().front().file;
  const auto row_with = [&](const auto& machine, const auto& run) {
    return ElementsAre(file, "2026-01-02T03:04:05+00:00", "example CPU", "0.1.0", machine, run);
  };
  EXPECT_THAT(rows(all, "conditions"),
              ElementsAre(row_with(Not(HasSubstr("steal")), Not(HasSubstr("interrupted")))));
  std::set<std::string> fields;
  for (const strings& row : rows(all, "conditions", 1)) fields.insert(row.front());
  std::set<std::string> expected;
  for (const auto& [name, value] : golden().front().context) expected.insert(name);
  EXPECT_EQ(expected.erase("library_build_type"), 1U) << "says nothing of the timings";
  EXPECT_EQ(fields, expected);
  std::vector<result::results> files = golden();
  files.front().context["machine_check"] = "steal speed";
  files.front().context["interrupted"] = "1";
  EXPECT_THAT(files_table(files).rows,
              ElementsAre(row_with(mentions("steal", "speed"), mentions("interrupted"))));
}

TEST(Page, EscapesHostileNames) {
  std::vector<result::results> files = golden();
  const std::string hostile = "\"><script>alert('1')</script></svg>&\x1b[2J\x01\xff";
  files.front().file = hostile;
  files.front().context["device"] = hostile;
  files.front().context[hostile] = hostile;
  for (auto& [model_case, step] : files.front().manifest) step.front().layer = hostile;
  for (result::measurement& row : files.front().chains) {
    if (row.name.model_case.model == "small") row.error = hostile;
  }
  files.front().manifest.begin()->first.model = hostile + "\nsecond line";
  const report_data of = report_data_of(files, {.models = {}, .allow_partial = true});
  const std::string result = page(of);
  for (const char* harmful : {"<script", "\x1b", "\x01", "\xff"}) {
    EXPECT_THAT(result, Not(HasSubstr(harmful)));
    EXPECT_THAT(markdown(of), Not(HasSubstr(harmful)));
  }
  const std::size_t title = result.find("<title>");
  EXPECT_GT(result.find('\n', title), result.find("</title>")) << "on one line";
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
  EXPECT_THAT(warnings(report_data_of(files, {.models = {}, .allow_partial = true})),
              AllOf(Contains(mentions(files.front().file, "steal", "speed")),
                    Contains(mentions(files.front().file, "interrupted")),
                    Contains(AllOf(mentions("tiny", "relu1"), HasSubstr("PARTIAL"))),
                    Contains(mentions("3", "6", "disturbed")),
                    Contains(mentions(files.front().file, "other.json", "device"))));
  EXPECT_THAT(warnings(report_data_of(golden(), {.models = {"small"}})), IsEmpty());
}

TEST(Page, RoundsAFigureAlikeInEachTable) {
  std::vector<result::results> files = golden();
  for (result::measurement& row : files.front().rows) row.counters["disturbed"] = 1;
  const report_data of = report_data_of(files);
  const std::string rounded = analysis::summary(of.predictions).rows.at(0).at(7);
  EXPECT_THAT(rounded, StartsWith("~"));
  EXPECT_EQ(overview(of).rows.at(0).at(1), rounded);
}

TEST(Page, NamesTheFilesOfEachCaseWhereContextsDiffer) {
  std::vector<result::results> files = golden();
  const std::size_t columns = overview(report_data_of(files)).columns.size();
  files.push_back(files.front());
  files.back().file = "other.json";
  EXPECT_THAT(overview(report_data_of(files)).columns, SizeIs(columns));
  files.back().context["device"] = "another CPU";
  const report_data of = report_data_of(files);
  const table t = overview(of);
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
  const json::value all = read_page(page(report_data_of(files)));
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
