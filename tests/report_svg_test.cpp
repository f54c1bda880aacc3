// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/split.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/report/style.hpp>
#include <layerbench/report/time_series_chart.hpp>

namespace layerbench::report {
namespace report_svg_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Html, EscapesTextsAndAttributes) {
  EXPECT_EQ(escaped("<a href='x'>&\"").html, "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
  EXPECT_EQ(element("p", escaped("<"), {{"title", "\">"}}).html,
            "<p title=\"&quot;&gt;\">&lt;</p>");
  EXPECT_EQ(escaped("\x01\xff\xc3\xa4\n").html, "\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4\n");
}

TEST(Html, ReplacesCharactersThatActOnTerminalsOrText) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(escaped("\x1b[31m\x7f").html, mark + "[31m" + mark);
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m")
                .html,
            mark + "31m")
      << "a control of eight bits";
  EXPECT_EQ(escaped("a\xe2\x80\xae"
                    "b")
                .html,
            "a" + mark + "b")
      << "text from right to left";
  EXPECT_EQ(escaped("\xef\xbf\xbf").html, mark) << "not allowed in XML";
  EXPECT_EQ(escaped("\xe2\x82\xac\xf0\x9f\x98\x80").html, "\xe2\x82\xac\xf0\x9f\x98\x80");
}

/// The longest part of a text that a browser cannot break.
std::size_t longest_part(std::string html) {
  std::size_t longest = 0;
  for (const std::string_view cut : {"<wbr/>", " ", "-"}) {
    for (std::size_t at = html.find(cut); at != std::string::npos; at = html.find(cut)) {
      html.replace(at, cut.size(), "\n");
    }
  }
  for (const std::string_view part : split(html, '\n')) {
    longest = std::max(longest, display_width(part));
  }
  return longest;
}

TEST(Html, LetsBrowsersBreakLongNames) {
  EXPECT_EQ(breakable("layer1_0_conv<").html, "layer1_<wbr/>0_<wbr/>conv&lt;");
  EXPECT_EQ(breakable("a b").html, "a b");
  for (const std::string& name :
       {std::string(300, 'x'), std::string(100, '_'), "/a/b" + std::string(70, 'c') + ".json"}) {
    EXPECT_LE(longest_part(breakable(name).html), 24U) << name;
  }
  EXPECT_LE(longest_part(breakable(std::string(90, 'x') + "\xc3\xa4").html), 24U);
}

TEST(Html, LabelsTheCellsOfWideTables) {
  const table narrow{{{"a"}, {"b", align::right}}, {{"1", "2"}}};
  EXPECT_THAT(to_html(narrow, "").html,
              AllOf(HasSubstr("class=\"few\""), Not(HasSubstr("data-label"))));
  const table broad{{{"a"}, {"b"}, {"c", align::right}, {"<d>"}}, {{"1", "2", "3", "4"}}};
  EXPECT_THAT(to_html(broad, "").html,
              AllOf(HasSubstr("class=\"many\""), HasSubstr("<td data-label=\"b\">2</td>"),
                    HasSubstr("<td class=\"number\" data-label=\"c\">3</td>"),
                    HasSubstr("<td data-label=\"&lt;d&gt;\">4</td>")));
}

/// The colours of a block of the style sheet.
std::map<std::string, std::string> colours(std::string_view block) {
  static const std::regex variable("--([a-z]+): (#[0-9a-f]+);");
  std::map<std::string, std::string> found;
  const std::string text(block.substr(0, block.find('}')));
  for (std::sregex_iterator at(text.begin(), text.end(), variable), end; at != end; ++at) {
    found[(*at)[1]] = (*at)[2];
  }
  return found;
}

/// The relative luminance of "#abc" or "#aabbcc" (WCAG 2.2).
double luminance(const std::string& colour) {
  const std::size_t digits = colour.size() == 4 ? 1 : 2;
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string part = colour.substr(1 + i * digits, digits);
    const double value = std::stoi(digits == 1 ? part + part : part, nullptr, 16) / 255.0;
    const double linear = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    sum += linear * std::array{0.2126, 0.7152, 0.0722}.at(i);
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const auto [dark, bright] = std::minmax({luminance(a), luminance(b)});
  return (bright + 0.05) / (dark + 0.05);
}

TEST(Style, HasEnoughContrastInBothSchemes) {
  EXPECT_NEAR(contrast("#000", "#ffffff"), 21, 1e-9);
  std::map<std::string, std::string> light = colours(style.substr(style.find(":root")));
  const std::size_t dark_block = style.find("prefers-color-scheme: dark");
  ASSERT_NE(dark_block, std::string_view::npos);
  for (const auto& scheme : {light, colours(style.substr(style.find(":root", dark_block)))}) {
    ASSERT_THAT(scheme, SizeIs(light.size()));
    for (const char* text : {"ink", "faint", "link"}) {
      EXPECT_GE(contrast(scheme.at(text), scheme.at("page")), 4.5) << text;
    }
    for (const char* drawn : {"predicted", "naive"}) {
      EXPECT_GE(contrast(scheme.at(drawn), scheme.at("page")), 3) << drawn;
    }
    EXPECT_GE(contrast(scheme.at("ink"), scheme.at("band")), 4.5);
  }
}

template <op::operation... Ops>
std::vector<std::string> names_of(op::list<Ops...> /*all*/) {
  return {std::string(Ops::name)...};
}

TEST(Palette, GivesEachOpItsOwnFillOnAllPages) {
  const auto with = [](std::vector<std::pair<std::string, double>> shares) {
    analysis::prediction p;
    for (const auto& [op, share] : shares)
      p.layers.push_back({"x", op, "fwd", "", 1, false, 1, share, {}});
    return svg::palette(std::vector{p});
  };
  const svg::palette first = with({{"conv", 0.9}, {"gemm", 0.1}});
  const svg::palette second = with({{"gemm", 0.8}, {"softmax", 0.1}, {"conv", 0.1}});
  EXPECT_EQ(first.fill("conv"), second.fill("conv"));
  EXPECT_EQ(first.fill("gemm"), second.fill("gemm"));
  std::set<std::string> fills;
  const std::vector<std::string> ops = names_of(op::builtin{});
  for (const std::string& op : ops) fills.insert(first.fill(op));
  EXPECT_EQ(fills.size(), ops.size());
  EXPECT_FALSE(fills.contains(first.fill("an op of a later version")));
}

TEST(HistoryChart, NamesDaysOrTheHoursOfOneDay) {
  analysis::time_series of;
  for (const char* date : {"2026-01-02T03:04:05+00:00", "2026-01-02T23:24:25+00:00"}) {
    of.points.push_back({.when = {}, .date = date, .file = {}, .time = {}});
  }
  EXPECT_THAT(svg::detail::date_labels(of), ElementsAre("03:04", "23:24"));
  of.points.front().date = "2026-01-01T03:04:05+00:00";
  EXPECT_THAT(svg::detail::date_labels(of), ElementsAre("2026-01-01", "2026-01-02"));
}

}  // namespace report_svg_test
}  // namespace layerbench::report
