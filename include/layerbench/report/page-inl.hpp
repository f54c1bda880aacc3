// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/compare/time_series_text.hpp>
#include <layerbench/analysis/curve/text.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/curve_chart.hpp>
#include <layerbench/report/error_chart.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/report/roofline_chart.hpp>
#include <layerbench/report/style.hpp>
#include <layerbench/report/svg.hpp>
#include <layerbench/report/time_series_chart.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::report {

namespace detail {

/// A bar of the whole step, divided by op. The table below it is its legend.
[[nodiscard]] inline markup share_bar(const analysis::prediction& p, const svg::palette& ops) {
  std::vector<std::pair<std::string, double>> fills;
  for (const auto& [op, share] : analysis::shares_by_op(p)) fills.emplace_back(ops.fill(op), share);
  return svg::bar("The step by kind of op, as in the table below", fills);
}

[[nodiscard]] inline std::string case_id(std::size_t i) { return fmt::format("case{}", i + 1); }

[[nodiscard]] inline markup section(const std::string& id, const std::string& title,
                                    const markup& inner) {
  return element("section", element("h2", escaped(title)) + inner, {{"id", id}}) + markup{"\n"};
}

[[nodiscard]] inline markup link(const std::string& id, const std::string& text) {
  return element("a", escaped(text), {{"href", "#" + id}});
}

/// Machine, libraries and date; predicted and measured steps; reservations.
[[nodiscard]] inline markup summary_section(const report_data& of) {
  markup_table t = to_markup(overview(of));
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    t.rows[i].front() = element("a", t.rows[i].front(), {{"href", "#" + case_id(i)}});
  }
  markup inner =
      element("div", to_html(facts(of)), {{"class", "facts"}}) +
      element("div", to_html(t, "Predicted and measured steps"), {{"class", "headline"}});
  if (!of.contentions.empty()) inner += to_html(lines(text(of.contentions)));
  if (const std::vector<std::string> sentences = warnings(of); !sentences.empty()) {
    inner += element("div", element("h3", escaped("Warnings")) + to_html(sentences),
                     {{"class", "warnings"}});
  }
  return section("summary", "Summary", inner);
}

/// The legend of a case's bar, as a table.
[[nodiscard]] inline markup ops_table(const analysis::prediction& p, const svg::palette& ops) {
  markup_table t{{{"op"}, {"share", align::right}, {"ms per step", align::right}}, {}};
  for (const auto& [op, share] : analysis::shares_by_op(p)) {
    t.rows.push_back({ops.swatch(op) + breakable(op), escaped(format::percent(share)),
                      escaped(format::milliseconds(analysis::seconds_of_op(p, op), p.digits()))});
  }
  return to_html(t, "The step by kind of op");
}

/// The table of layers, with a sample of each op's fill and a bar for each share.
[[nodiscard]] inline markup layers_section(const analysis::prediction& p, std::size_t most,
                                           const svg::palette& ops) {
  const table plain = layers_table(p, most);
  const std::vector<analysis::layer_time> layers = analysis::heaviest_first(p);
  const auto share = std::ranges::find(plain.columns, "share", &column::title);
  const auto column_of_share = static_cast<std::size_t>(share - plain.columns.begin());
  constexpr std::size_t column_of_op = 1;
  markup_table t = to_markup(plain);
  for (std::size_t i = 0; i < std::min(most, layers.size()); ++i) {
    const std::string& op = layers[i].op;
    std::vector<markup>& cells = t.rows[i];
    cells[column_of_op] = ops.swatch(op) + cells[column_of_op];
    cells[column_of_share] =
        ops.cell_bar(op, layers[i].share / layers.front().share) + cells[column_of_share];
  }
  return to_html(t, "Layers with most of the step's time");
}

/// The remarks on a case without the shares of its ops, which a table has.
[[nodiscard]] inline std::vector<std::string> remarks_beside_tables(const analysis::prediction& p) {
  std::vector<std::string> all = case_remarks(p);
  if (const std::vector<std::string> shares = lines(analysis::breakdown_text(p)); !shares.empty())
    std::erase(all, shares.back());
  return all;
}

[[nodiscard]] inline markup case_section(const analysis::prediction& p, const std::string& title,
                                         const std::string& id, const svg::palette& ops) {
  constexpr std::size_t most = 10;
  markup inner = element("h3", escaped(title)) + to_html(remarks_beside_tables(p));
  if (!p.layers.empty()) {
    inner += share_bar(p, ops) + ops_table(p, ops) + layers_section(p, most, ops);
  }
  if (p.limits) {
    inner += svg::roofline_chart(p, ops) +
             element("div",
                     to_html(analysis::worth_optimising_table(p, most),
                             "Layers with most time above their peak"),
                     {{"class", "numbered"}}) +
             to_html(analysis::bandwidths(*p.limits), "Peak bandwidths of the machine");
  }
  return element("section", inner, {{"id", id}}) + markup{"\n"};
}

[[nodiscard]] inline markup cases_section(const report_data& of, const svg::palette& ops) {
  markup inner;
  for (std::size_t i = 0; i < of.predictions.size(); ++i) {
    const analysis::prediction& p = of.predictions[i];
    inner += case_section(p, case_title(of, p), case_id(i), ops);
  }
  return section("cases", "Cases", inner);
}

[[nodiscard]] inline markup validation_section(const analysis::validation& all) {
  markup inner;
  if (!all.cases.empty()) {
    inner = svg::error_chart(all) + to_html(analysis::validation_table(all),
                                            "Predictions against steps that ran as a whole, in ms");
  }
  return section("validation", "Validation", inner + to_html(lines(remarks(all))));
}

[[nodiscard]] inline markup comparison_section(const report_data& of) {
  markup inner = to_html(of.uncompared);
  for (const analysis::comparison& all : of.comparisons) {
    const std::string title = comparison_title(all);
    inner += element("h3", escaped(title)) + to_html(lines(comparison_header(all)));
    if (!all.models.empty()) {
      inner += to_html(models_table(all), "Predicted steps, old and new") +
               to_html(lines(top_contributors_text(all)));
    }
    if (!all.layers.empty()) inner += to_html(layers_table(all), "Layers, old and new");
    inner += to_html(lines(remarks(all)));
  }
  return section("comparison", "Comparison", inner);
}

[[nodiscard]] inline markup curves_section(const std::vector<analysis::curve>& all) {
  markup inner;
  for (const analysis::curve& of : all) {
    const std::string title = analysis::headline(of);
    inner += element("h3", escaped(title)) + svg::curve_chart(of) +
             to_html(lines(analysis::summary_text(of))) +
             to_html(analysis::to_table(of, /*bars=*/false), title);
  }
  return section("curves", "Curves", inner);
}

[[nodiscard]] inline markup history_section(const analysis::histories& all) {
  markup inner;
  for (const analysis::step_series& series : all.steps) {
    const std::string title = history_title(series);
    inner += element("h3", escaped(title)) + svg::history_chart(series) +
             to_html(history_table(series), title);
  }
  constexpr std::size_t most = 10;  // the table has all
  for (std::size_t i = 0; i < std::min(most, all.layers.size()); ++i) {
    const analysis::layer_series& series = all.layers[i];
    inner += element("h3", breakable(history_title(series))) + svg::history_chart(series);
  }
  if (const auto changes = analysis::named_changes(all); !changes.empty()) {
    inner += to_html(analysis::changes_table(changes, changes.size()), "Lasting changes");
  }
  return section("history", "History", inner);
}

[[nodiscard]] inline markup conditions_section(const report_data& of) {
  markup inner = to_html(files_table(of.files), "Files");
  for (const result::results& file : of.files) {
    inner += element("details",
                     element("summary", escaped("Context of " + file.file)) +
                         to_html(context_table(file), "What " + file.file + " says of its run"),
                     {{"class", "context"}});
  }
  return section("conditions", "Conditions", inner);
}

[[nodiscard]] inline markup reading_section(const report_data& of) {
  return section("reading", "How to read this", to_html(reading(of)));
}

/// "resnet50, vgg16": each model once, on one line.
[[nodiscard]] inline std::string models(const report_data& of) {
  std::vector<std::string> names;
  for (const analysis::prediction& p : of.predictions) names.push_back(p.model_case.model);
  std::string text = listed(names);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

[[nodiscard]] inline markup navigation(const report_data& of) {
  markup items;
  const auto add = [&](const std::string& id, const std::string& text) {
    items += element("li", link(id, text));
  };
  add("summary", "Summary");
  add("cases", "Cases");
  if (!of.curves.empty()) add("curves", "Curves");
  if (of.has_validation()) add("validation", "Validation");
  if (of.has_comparison()) add("comparison", "Comparison");
  if (!of.history.steps.empty()) add("history", "History");
  add("conditions", "Conditions");
  add("reading", "How to read this");
  return element("nav", element("ul", items), {{"aria-label", "Sections"}});
}

[[nodiscard]] inline markup head(const std::string& title, const markup& more) {
  const markup meta{
      "<meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"};
  return element("head", meta + element("title", escaped(title)) +
                             element("style", markup{std::string(style)}) + more);
}

}  // namespace detail

LAYERBENCH_INLINE std::string document(const std::string& title, const markup& body,
                                       const markup& more_head) {
  const markup whole =
      body + element("footer", element("p", escaped("layerbench " LAYERBENCH_VERSION)));
  return "<!DOCTYPE html>\n" +
         element("html", detail::head(title, more_head) + element("body", whole), {{"lang", "en"}})
             .html +
         '\n';
}

LAYERBENCH_INLINE std::string page(const report_data& of, const markup& above,
                                   const markup& more_head) {
  const svg::palette ops(of.predictions);
  const std::string title = "layerbench: " + detail::models(of);
  markup parts =
      detail::summary_section(of) + detail::navigation(of) + detail::cases_section(of, ops);
  if (!of.curves.empty()) parts += detail::curves_section(of.curves);
  if (of.has_validation()) parts += detail::validation_section(of.validation);
  if (of.has_comparison()) parts += detail::comparison_section(of);
  if (!of.history.steps.empty()) parts += detail::history_section(of.history);
  parts += detail::conditions_section(of) + detail::reading_section(of);
  return document(
      title, ops.definitions() + above + element("h1", breakable(title)) + element("main", parts),
      more_head);
}

}  // namespace layerbench::report
