// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/model/step.hpp>

namespace layerbench::analysis {

namespace detail {

/// The conditions of a case, without those of the cell.
[[nodiscard]] inline std::string machine_of(const prediction& p) {
  std::string text = p.model_case.backend;
  if (p.threads > 0) text += fmt::format(", {} thread{}", p.threads, p.threads == 1 ? "" : "s");
  for (const auto& [name, value] : p.model_case.parameters) {
    if (name != "phase" && name != "threads") text += fmt::format(", {} {}", name, value);
  }
  return text;
}

/// The first error of a row of the case; empty if there is none.
[[nodiscard]] inline std::string first_error(const prediction& p,
                                             std::span<const result::results> files) {
  for (const result::results& file : files) {
    for (const result::measurement& row : file.rows) {
      if (!row.error.empty() && row.name.model_case == p.model_case) return row.error;
    }
  }
  return "";
}

[[nodiscard]] inline own_figure figure_of(const prediction& p, const study& of,
                                          std::span<const result::results> files) {
  own_figure own{machine_of(p), device_of(p, files), p.files, {}, 0, 0, p.method, "", p.disturbed};
  if (!p.step) {
    const std::string error = first_error(p, files);
    own.reason = fmt::format("{} layers not measured{}{}", p.missing.size(),
                             error.empty() ? "" : ": ", error);
    return own;
  }
  const double images =
      static_cast<double>(p.model_case.batch) * static_cast<double>(p.model_case.ranks());
  if (of.unit == "ms") {
    own.value = 1e3 * p.step->seconds;
    own.low = 1e3 * p.step->low();
    own.high = 1e3 * p.step->high();
  } else {
    own.value = images / p.step->seconds;
    own.low = images / p.step->high();
    own.high = images / p.step->low();
  }
  return own;
}

[[nodiscard]] inline bool is_case_of(const prediction& p, const study_cell& cell) {
  return p.model_case.model == cell.model && p.model_case.phase() == cell.phase &&
         p.model_case.batch == cell.batch && p.model_case.dtype == cell.dtype;
}

/// Adds a figure; a second one of a machine, from files that are not merged, replaces one without
/// value, or gets a name with its first file.
inline void add_figure(std::vector<own_figure>& all, own_figure added) {
  const auto same = [&](const own_figure& one) { return one.machine == added.machine; };
  const auto known = std::ranges::find_if(all, same);
  if (known == all.end()) {
    all.push_back(std::move(added));
  } else if (!known->value) {
    *known = std::move(added);
  } else if (added.value) {
    added.machine += fmt::format(", {}", fmt::join(added.files, " "));
    all.push_back(std::move(added));
  }
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<study_row> own_figures(const study& of,
                                                     std::span<const study_cell> cells,
                                                     std::span<const result::results> files) {
  std::map<std::vector<model::step_part>, std::vector<prediction>> predictions;
  std::vector<study_row> rows;
  for (const study_cell& cell : cells) {
    study_row row{cell, {}, cell.unanswered};
    if (cell.answerable()) {
      row.reason = "not measured";
      if (!files.empty() && !predictions.contains(cell.parts)) {
        options chosen;
        chosen.parts = cell.parts;
        predictions[cell.parts] = predict(files, chosen);
      }
      for (const prediction& p : predictions[cell.parts]) {
        if (detail::is_case_of(p, cell)) {
          detail::add_figure(row.own, detail::figure_of(p, of, files));
        }
      }
      if (!row.own.empty()) row.reason.clear();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

LAYERBENCH_INLINE std::vector<std::string> machines(std::span<const study_row> rows) {
  std::vector<std::string> names;
  for (const study_row& row : rows) {
    for (const own_figure& own : row.own) {
      if (std::ranges::find(names, own.machine) == names.end()) names.push_back(own.machine);
    }
  }
  return names;
}

LAYERBENCH_INLINE const own_figure* figure_of_machine(const study_row& row,
                                                      const std::string& machine) {
  const auto found = std::ranges::find(row.own, machine, &own_figure::machine);
  return found == row.own.end() ? nullptr : &*found;
}

}  // namespace layerbench::analysis
