// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/report/comparison.hpp>
#include <layerbench/report/digest.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/table.hpp>

/// A report in GitHub's Markdown, for pull requests.
namespace layerbench::report {

namespace detail {

/// `said` on one line, in which nothing is markup.
[[nodiscard]] inline std::string plain(std::string_view said) {
  std::string made;
  for (const char c : printable(said)) {
    if (c == '\n' || c == '\t') {
      made += ' ';
    } else if (c == '<' || c == '&') {
      made += c == '<' ? "&lt;" : "&amp;";
    } else {
      if (std::string_view("\\|`*[]").find(c) != std::string_view::npos) made += '\\';
      made += c;
    }
  }
  return made;
}

[[nodiscard]] inline std::string to_markdown(table t) {
  for (auto& row : t.rows) {
    for (std::string& cell : row) cell = plain(cell);
  }
  return text(t) + '\n';
}

[[nodiscard]] inline std::string to_markdown(const std::vector<std::string>& texts) {
  std::string made;
  for (const std::string& each : texts) made += "- " + plain(each) + '\n';
  return texts.empty() ? made : made + '\n';
}

[[nodiscard]] inline std::string heading(int level, const std::string& title) {
  return fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'), plain(title));
}

[[nodiscard]] inline std::string to_markdown(const predict::comparison& all) {
  std::string made =
      heading(3, "Comparison: " + comparison_title(all)) + to_markdown(lines(sides(all)));
  if (!all.models.empty()) {
    made += to_markdown(compared_models(all)) + to_markdown(lines(drivers_text(all)));
  }
  if (!all.layers.empty()) made += to_markdown(compared_layers(all));
  return made + to_markdown(lines(remarks(all)));
}

}  // namespace detail

/// The summary and what to mind; each case with its heaviest layers; validation, comparisons and
/// history, where there are any; the files.
[[nodiscard]] inline std::string markdown(const digest& of) {
  using detail::heading;
  using detail::to_markdown;
  std::string made = heading(2, "layerbench") + to_markdown(overview(of.predictions)) +
                     to_markdown(detail::lines(text(of.contentions))) + to_markdown(warnings(of));
  for (const predict::prediction& p : of.predictions) {
    made += heading(3, case_title(of, p)) + to_markdown(detail::lines(detail::remarks(p)));
    if (!p.layers.empty()) made += to_markdown(layers(p));
    if (p.limits) made += to_markdown(candidates(p));
  }
  if (of.has_validation()) {
    const predict::validation& all = of.validation;
    made += heading(3, "Validation");
    if (!all.cases.empty()) made += to_markdown(detail::comparison(all));
    made += to_markdown(detail::lines(detail::remarks(all)));
  }
  if (!of.uncompared.empty()) made += heading(3, "Comparison") + to_markdown(of.uncompared);
  for (const predict::comparison& each : of.comparisons) made += to_markdown(each);
  for (const predict::course& each : of.history) {
    made += heading(3, "History: " + course_title(each)) + to_markdown(dates(each));
  }
  return made + heading(3, "Files") + to_markdown(sources(of.files)) + to_markdown(reading(of));
}

}  // namespace layerbench::report
