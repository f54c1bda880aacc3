// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/shape/json.hpp>

/// A study's table as JSON.
namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

[[nodiscard]] inline json::value figure_json(const own_figure& own) {
  const auto bound = [&](double value) {
    return own.low < own.high ? json::value(value) : json::value(nullptr);
  };
  return {{"machine", own.machine},
          {"device", own.device},
          {"files", own.files},
          {"method", own.method},
          {"value", or_null(own.value)},
          {"low", bound(own.low)},
          {"high", bound(own.high)},
          {"disturbed", own.disturbed},
          {"reason", text_or_null(own.reason)}};
}

[[nodiscard]] inline json::value row_json(const study& of, const study_row& row) {
  const study_cell& cell = row.cell;
  json::value result{{"label", cell.label}};
  if (cell.answerable()) {
    result["model"] = cell.model;
    result["phase"] = cell.phase;
    result["batch"] = cell.batch;
    result["dtype"] = cell.dtype;
    if (!cell.parts.empty()) {
      json::value parts = json::value::array();
      for (const model::step_part part : cell.parts) parts.push_back(name(part));
      result["parts"] = std::move(parts);
    }
    if (!cell.unit.empty() && cell.unit != of.unit) result["unit"] = cell.unit;
    if (cell.epochs != 1) result["epochs"] = cell.epochs;
    if (cell.steps != 1) result["steps"] = cell.steps;
    if (cell.threads != 0) result["threads"] = cell.threads;
    if (cell.devices != 1) result["devices"] = cell.devices;
    if (!cell.ops.empty()) result["ops"] = cell.ops;
  } else {
    result["unanswered"] = cell.unanswered;
  }
  json::value published = json::value::object();
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    if (cell.published[i]) published[of.columns[i]] = *cell.published[i];
  }
  result["published"] = std::move(published);
  json::value own = json::value::array();
  for (const own_figure& figure : row.own) own.push_back(figure_json(figure));
  result["own"] = std::move(own);
  result["reason"] = text_or_null(row.reason);
  return result;
}

}  // namespace detail

/// The table of a study as JSON: the fields of the study file, and in each cell `own` and `reason`
/// (docs/formats.md).
[[nodiscard]] inline json::value to_json(const study& of, std::span<const study_row> rows) {
  json::value cells = json::value::array();
  for (const study_row& row : rows) cells.push_back(detail::row_json(of, row));
  json::value unanswered = json::value::array();
  for (const auto& [question, reason] : of.unanswered) {
    unanswered.push_back({{"question", question}, {"reason", reason}});
  }
  return {{"schema", 1},         {"name", of.name},          {"title", of.title},
          {"source", of.source}, {"unit", of.unit},          {"columns", of.columns},
          {"cells", cells},      {"unanswered", unanswered}, {"notes", of.notes}};
}

}  // namespace layerbench::analysis
