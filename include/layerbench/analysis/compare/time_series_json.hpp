// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/compare/time_series_text.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/shape/record.hpp>

/// Comparisons of dates as JSON.
namespace layerbench::analysis {

namespace detail {

/// Adds the points and the changes of a series.
inline void add_series(json::value& to, const time_series& of) {
  json::value points = json::value::array();
  for (const history_point& point : of.points) {
    points.push_back({{"file", point.file},
                      {"date", point.date},
                      {"seconds", point.time.seconds},
                      {"low", point.between ? json::value(point.between->low) : json::value()},
                      {"high", point.between ? json::value(point.between->high) : json::value()},
                      {"differing", point.differing}});
  }
  json::value changes = json::value::array();
  for (const change_point& change : of.changes) {
    const history_point& first = of.points[change.first];
    json::value result{{"file", first.file}, {"date", first.date}};
    result.update(ratio_json(change));
    result.update({{"old_seconds", change.ratio.old_seconds},
                   {"new_seconds", change.ratio.new_seconds},
                   {"old_files", change.ratio.old_rounds},
                   {"new_files", change.ratio.new_rounds},
                   {"differing", first.differing}});
    changes.push_back(std::move(result));
  }
  to.update({{"threads", of.threads}, {"points", points}, {"changes", changes}});
}

}  // namespace detail

/// The comparison as JSON: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const date_comparison& all) {
  json::value files = json::value::array();
  for (const history_file& one : all.files) {
    files.push_back({{"file", one.file}, {"date", one.date}, {"disturbed", one.disturbed}});
  }
  json::value models = json::value::array();
  for (const step_series& of : all.steps) {
    models.push_back(detail::case_fields(of.model_case));
    models.back().update({{"case", of.model_case.text()}, {"cache", of.cache}});
    detail::add_series(models.back(), of);
  }
  json::value layers = json::value::array();
  for (const layer_series& of : all.layers) {
    layers.push_back({{"id", of.row.id}, {"name", of.row.name}});
    detail::add_series(layers.back(), of);
  }
  return {{"schema", 1},
          {"across", name(compared_dimension::date)},
          {"files", files},
          {"forced", all.forced},
          {"margin", all.margin},
          {"notes", notes(all)},
          {"models", models},
          {"layers", layers},
          {"on_few_files", detail::rows_json(all.on_few_files)},
          {"uncompared", detail::uncompared_json(all.left_out)}};
}

}  // namespace layerbench::analysis
