// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/compare/time_series_text.hpp>
#include <layerbench/analysis/curve/text.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/markdown.hpp>

namespace layerbench::report {

namespace detail {

LAYERBENCH_INLINE std::string plain(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '\n' || c == '\t') {
      result += ' ';
    } else if (c == '<' || c == '&') {
      result += c == '<' ? "&lt;" : "&amp;";
    } else {
      if (std::string_view("\\|`*[]~").find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

[[nodiscard]] inline std::string to_markdown(table t) {
  for (auto& row : t.rows) {
    for (std::string& cell : row) cell = plain(cell);
  }
  return text(t) + '\n';
}

LAYERBENCH_INLINE std::string to_markdown(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) {
    // A list's item may be a heading, a quotation or a list itself.
    const bool is_markup =
        !text.empty() && std::string_view("#>+-=").find(text.front()) != std::string_view::npos;
    result += std::string("- ") + (is_markup ? "\\" : "") + plain(text) + '\n';
  }
  return texts.empty() ? result : result + '\n';
}

[[nodiscard]] inline std::string heading(int level, const std::string& title) {
  return fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'), plain(title));
}

}  // namespace detail

LAYERBENCH_INLINE std::string markdown(const analysis::comparison& all, const std::string& title,
                                       const std::string& header,
                                       const analysis::layers_shown& how) {
  using detail::lines;
  using detail::to_markdown;
  std::string result = detail::heading(3, title) + to_markdown(lines(header));
  if (!all.models.empty()) {
    result += to_markdown(models_table(all)) + to_markdown(lines(top_contributors_text(all)));
  }
  if (!all.sum.empty()) result += to_markdown(sum_table(all));
  if (!all.layers.empty()) result += to_markdown(layers_table(all, how));
  return result + to_markdown(lines(remarks(all)));
}

LAYERBENCH_INLINE std::string markdown(const report_data& of) {
  using detail::heading;
  using detail::to_markdown;
  std::string result = heading(2, "layerbench") + to_markdown(overview(of)) +
                       to_markdown(facts(of)) + to_markdown(detail::lines(text(of.contentions))) +
                       to_markdown(warnings(of));
  for (const analysis::prediction& p : of.predictions) {
    result += heading(3, case_title(of, p)) + to_markdown(detail::case_remarks(p));
    if (!p.layers.empty()) result += to_markdown(layers_table(p));
    if (p.limits) result += to_markdown(analysis::worth_optimising_table(p));
  }
  for (const analysis::curve& curve : of.curves) {
    result += heading(3, analysis::headline(curve)) +
              to_markdown(detail::lines(analysis::summary_text(curve))) +
              to_markdown(analysis::to_table(curve));
  }
  if (of.has_validation()) {
    const analysis::validation& all = of.validation;
    result += heading(3, "Validation");
    if (!all.cases.empty()) result += to_markdown(analysis::validation_table(all));
    result += to_markdown(detail::lines(remarks(all)));
  }
  if (!of.uncompared.empty()) result += heading(3, "Comparison") + to_markdown(of.uncompared);
  for (const analysis::comparison& comparison : of.comparisons) {
    result += markdown(comparison, "Comparison: " + comparison_title(comparison),
                       comparison_header(comparison));
  }
  for (const analysis::step_series& series : of.history.steps) {
    result += heading(3, "History: " + history_title(series)) + to_markdown(history_table(series));
  }
  if (const auto changes = analysis::named_changes(of.history); !changes.empty()) {
    result += heading(3, "Lasting changes") +
              to_markdown(analysis::changes_table(changes, changes.size()));
  }
  return result + heading(3, "Files") + to_markdown(files_table(of.files)) +
         to_markdown(reading(of));
}

}  // namespace layerbench::report
