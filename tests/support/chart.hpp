// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/report/label_layout.hpp>

#include "page.hpp"

/// What the drawings of a report say, read back from their SVG.
namespace layerbench::testing {

struct drawn_label {
  std::string text;
  report::svg::box area;
};

struct drawn_chart {
  double width = 0;
  double height = 0;
  std::vector<drawn_label> labels;
  std::vector<report::svg::circle> points;
};

/// All matches of `pattern` in `text`.
inline std::vector<std::smatch> all_matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

/// The drawings of a figure or a page, in their order. Texts may hold entities.
inline std::vector<drawn_chart> drawn_charts(const std::string& html) {
  using report::svg::label_size;
  static const std::regex size(
      R"re(^class="(?:broad|narrow)"[^>]* viewBox="0 0 ([0-9.]+) ([0-9.]+)")re");
  static const std::regex label(
      R"re(<text class="[a-z]+" x="([-0-9.]+)" y="([-0-9.]+)" text-anchor="([a-z]+)">([^<]*)</text>)re");
  static const std::regex dot(R"re(<circle [^>]*cx="([-0-9.]+)" cy="([-0-9.]+)" r="([0-9.]+)")re");
  static const std::regex diamond(R"re(class="changed" d="M([-0-9.]+) ([-0-9.]+)l6 6)re");
  static const std::regex entity("&[#a-z0-9]+;");
  std::vector<drawn_chart> all;
  const std::string opening = "<svg ";
  for (std::size_t at = html.find(opening); at != std::string::npos;
       at = html.find(opening, at + 1)) {
    const std::size_t start = at + opening.size();
    const std::string inner = html.substr(start, html.find("</svg>", at) - start);
    const std::vector<std::smatch> sizes = all_matches(inner, size);
    if (sizes.empty()) continue;  // not a chart, but a sample of a fill
    drawn_chart& chart = all.emplace_back(
        drawn_chart{std::stod(sizes.front()[1]), std::stod(sizes.front()[2]), {}, {}});
    for (const std::smatch& found : all_matches(inner, label)) {
      const std::string text = std::regex_replace(found[4].str(), entity, "x");
      const double width = report::svg::label_width(text);
      const double before = found[3] == "start" ? 0 : found[3] == "end" ? width : width / 2;
      chart.labels.push_back({text, report::svg::label_box(text, {std::stod(found[1]) - before,
                                                                  std::stod(found[2])})});
    }
    for (const std::smatch& found : all_matches(inner, dot)) {
      chart.points.push_back({{std::stod(found[1]), std::stod(found[2])}, std::stod(found[3])});
    }
    for (const std::smatch& found : all_matches(inner, diamond)) {
      chart.points.push_back({{std::stod(found[1]), std::stod(found[2]) + 6}, 6});
    }
  }
  return all;
}

/// Labels that lie over a point or another label, or leave the drawing; one sentence each.
inline strings collisions(const drawn_chart& chart) {
  constexpr double rounding = 0.15;  // positions have one decimal
  strings found;
  for (std::size_t i = 0; i < chart.labels.size(); ++i) {
    const drawn_label& label = chart.labels[i];
    const report::svg::box area{label.area.x + rounding, label.area.y + rounding,
                                label.area.width - 2 * rounding, label.area.height - 2 * rounding};
    if (area.x < 0 || area.y < 0 || area.x + area.width > chart.width ||
        area.y + area.height > chart.height) {
      found.push_back(fmt::format("\"{}\" leaves the drawing of {}", label.text, chart.width));
    }
    for (const report::svg::circle& point : chart.points) {
      if (!overlap(area, report::svg::circle{point.centre, point.radius - rounding})) continue;
      found.push_back(fmt::format("\"{}\" lies over a point", label.text));
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (overlap(area, chart.labels[k].area))
        found.push_back(fmt::format("\"{}\" lies over \"{}\"", label.text, chart.labels[k].text));
    }
  }
  return found;
}

}  // namespace layerbench::testing
