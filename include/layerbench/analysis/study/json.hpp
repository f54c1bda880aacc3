// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/study/memory_figures.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/shape/record.hpp>

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

/// Figures under the names of their columns.
[[nodiscard]] inline json::value by_column(const study& of,
                                           const std::vector<std::optional<double>>& figures) {
  json::value result = json::value::object();
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    if (figures[i]) result[of.columns[i]] = *figures[i];
  }
  return result;
}

[[nodiscard]] inline json::value memory_json(const study& of, const study_row& row) {
  json::value list = json::value::array();
  for (const memory_figure& one : row.memory) {
    list.push_back({{"column", of.columns[one.column]},
                    {"policy", name(one.policy)},
                    {"published", one.published},
                    {"value", one.value},
                    {"contexts_mib", or_null(one.contexts)},
                    {"live_mib", one.live},
                    {"error", one.error}});
  }
  return list;
}

[[nodiscard]] inline json::value row_json(const study& of, const study_row& row) {
  const study_cell& cell = row.cell;
  json::value result{{"label", cell.label}};
  if (cell.unit != of.unit) result["unit"] = cell.unit;
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
    if (cell.epochs != 1) result["epochs"] = cell.epochs;
    if (cell.steps != 1) result["steps"] = cell.steps;
    if (cell.threads != 0) result["threads"] = cell.threads;
    if (cell.devices != 1) result["devices"] = cell.devices;
    if (!cell.ops.empty()) result["ops"] = cell.ops;
    if (!cell.framework.empty()) result["framework"] = cell.framework;
  } else {
    result["unanswered"] = cell.unanswered;
  }
  result["published"] = by_column(of, cell.published);
  json::value own = json::value::array();
  for (const own_figure& figure : row.own) own.push_back(figure_json(figure));
  result["own"] = std::move(own);
  result["reason"] = text_or_null(row.reason);
  if (!row.memory.empty()) result["memory"] = memory_json(of, row);
  return result;
}

/// What the study file says of memory.
[[nodiscard]] inline json::value memory_json(const study& of) {
  json::value compared = json::value::array();
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    if (of.memory.compared[i]) compared.push_back(of.columns[i]);
  }
  json::value frameworks = json::value::array();
  for (const framework_memory& one : of.memory.frameworks) {
    json::value framework{{"name", one.name}};
    if (one.policy) {
      framework["policy"] = name(*one.policy);
      framework["contexts"] = by_column(of, one.contexts);
      framework["source"] = one.source;
    } else {
      framework["unanswered"] = one.unanswered;
    }
    frameworks.push_back(std::move(framework));
  }
  return {{"columns", std::move(compared)}, {"frameworks", std::move(frameworks)}};
}

/// How far the predicted memory of each framework is from the published one.
[[nodiscard]] inline json::value memory_errors_json(const study& of,
                                                    std::span<const study_row> rows) {
  json::value errors = json::value::array();
  for (const memory_error& one : memory_errors(of, all_memory(rows))) {
    errors.push_back({{"framework", one.like.framework},
                      {"policy", name(one.like.policy)},
                      {"column", of.columns[one.like.column]},
                      {"contexts_mib", or_null(one.like.contexts)},
                      {"figures", one.figures},
                      {"below_live", one.below_live},
                      {"mean_error", one.mean},
                      {"bias", one.bias}});
  }
  return errors;
}

}  // namespace detail

/// The table of a study as JSON: the fields of the study file, and in each cell `own`, `reason` and
/// `memory` (docs/formats.md).
[[nodiscard]] inline json::value to_json(const study& of, std::span<const study_row> rows) {
  json::value cells = json::value::array();
  for (const study_row& row : rows) cells.push_back(detail::row_json(of, row));
  json::value unanswered = json::value::array();
  for (const auto& [question, reason] : of.unanswered) {
    unanswered.push_back({{"question", question}, {"reason", reason}});
  }
  json::value result{{"schema", 1},         {"name", of.name},          {"title", of.title},
                     {"source", of.source}, {"unit", of.unit},          {"columns", of.columns},
                     {"cells", cells},      {"unanswered", unanswered}, {"notes", of.notes}};
  if (!of.memory.frameworks.empty()) {
    result["memory"] = detail::memory_json(of);
    result["memory_errors"] = detail::memory_errors_json(of, rows);
  }
  return result;
}

}  // namespace layerbench::analysis
