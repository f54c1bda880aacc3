// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/step.hpp>

namespace layerbench::analysis {

namespace detail {

/// The conditions of a case, without those of the cell.
[[nodiscard]] inline std::string machine_of(const prediction& p, const study_cell& cell) {
  std::string text = p.model_case.backend;
  if (p.threads > 0 && cell.threads == 0) {
    text += fmt::format(", {} thread{}", p.threads, p.threads == 1 ? "" : "s");
  }
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

/// The step of a cell's devices, in seconds. Throws what predict_data_parallel() throws.
[[nodiscard]] inline estimate step_of(const prediction& p, const study_cell& cell,
                                      std::span<const result::results> files,
                                      const figure_options& chosen) {
  if (cell.devices == 1 || cell.phase != "training") return seconds_of(p);
  options how;
  how.shapes = chosen.shapes;
  const scaled_step step =
      predict_data_parallel({&p, 1}, files, how, {{cell.devices}, chosen.interconnect.value()})
          .at(0)
          .steps.at(0);
  return {step.step.seconds, step.seconds_low, step.seconds_high};
}

[[nodiscard]] inline own_figure figure_of(const prediction& p, const study& of,
                                          const study_cell& cell,
                                          std::span<const result::results> files,
                                          const figure_options& chosen) {
  own_figure own{machine_of(p, cell), device_of(p, files), p.files, {}, 0, 0, p.method, "",
                 p.disturbed};
  if (!p.step) {
    const std::string error = first_error(p, files);
    own.reason = fmt::format("{} layers not measured{}{}", p.missing.size(),
                             error.empty() ? "" : ": ", error);
    return own;
  }
  const std::string& unit = of.unit_of(cell);
  if (unit == "share") {
    own.value = 0;
    for (const layer_time& layer : p.layers) {
      if (std::ranges::find(cell.ops, layer.op) != cell.ops.end()) *own.value += layer.share;
    }
    return own;
  }
  const estimate step = step_of(p, cell, files, chosen);
  if (const std::optional<double> seconds = seconds_of_unit(unit)) {
    const estimate all = step.times(static_cast<double>(cell.epochs) * cell.steps / *seconds);
    own.value = all.value;
    own.low = all.low;
    own.high = all.high;
  } else {
    const auto images =
        static_cast<double>(p.model_case.batch * p.model_case.ranks() * cell.devices);
    own.value = images / step.value;
    own.low = images / step.high;
    own.high = images / step.low;
  }
  return own;
}

/// The mean power of a measured step, by each counter of its energy.
[[nodiscard]] inline std::vector<own_figure> powers_of(const prediction& p, const study_cell& cell,
                                                       std::span<const result::results> files) {
  std::vector<own_figure> powers;
  for (const step_energy& of : p.energies) {
    if (of.seconds <= 0) continue;
    const auto watts = [&](double joules) { return joules / of.seconds; };
    powers.push_back({fmt::format("{}, {} ({})", machine_of(p, cell), of.evidence, of.coverage),
                      device_of(p, files), p.files, watts(of.gross.mean), watts(of.gross.low),
                      watts(of.gross.high), "energy of repeated steps by their time", "", 0});
  }
  return powers;
}

/// Whether a prediction is of a cell's step, among the `cells` of a study.
[[nodiscard]] inline bool is_case_of(const prediction& p, const study_cell& cell,
                                     std::span<const study_cell> cells) {
  if (p.model_case.model != cell.model || p.model_case.phase() != cell.phase ||
      p.model_case.batch != cell.batch || p.model_case.dtype != cell.dtype) {
    return false;
  }
  if (cell.devices > 1 && p.model_case.ranks() > 1) return false;  // would be scaled twice
  if (cell.threads != 0 || p.threads == 0) return p.threads == cell.threads;
  study_cell named = cell;
  named.threads = p.threads;
  return std::ranges::none_of(cells,
                              [&](const study_cell& other) { return other.same_step(named); });
}

/// Why a cell has no figure, whatever was measured; empty if it can have one.
[[nodiscard]] inline std::string open_question(const study& of, const study_cell& cell,
                                               const figure_options& chosen) {
  if (!cell.answerable()) return cell.unanswered;
  if (of.unit_of(cell) == "MiB") {
    const framework_memory* const framework = of.framework_of(cell);
    return framework == nullptr ? "MiB: the study file says no framework" : framework->unanswered;
  }
  if (cell.devices == 1 || cell.phase != "training") return "";
  if (of.unit_of(cell) == "W") return "energy is measured on one device";
  if (!chosen.interconnect) {
    return fmt::format("needs --network: what joins the {} devices", cell.devices);
  }
  try {
    require_capacity(*chosen.interconnect, cell.devices);
  } catch (const usage_error& e) {
    return e.what();
  }
  return "";
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
                                                     std::span<const result::results> files,
                                                     const figure_options& chosen) {
  std::map<std::vector<model::step_part>, std::vector<prediction>> predictions;
  std::vector<study_row> rows;
  for (const study_cell& cell : cells) {
    rows.push_back({cell, {}, detail::open_question(of, cell, chosen)});
    study_row& row = rows.back();
    if (!row.reason.empty()) continue;
    if (of.unit_of(cell) == "MiB") {
      row.memory = memory_figures(of, cell, chosen.shapes);
      if (row.memory.empty()) row.reason = "no published figure is of one device";
      continue;
    }
    row.reason = "not measured";
    if (!files.empty() && !predictions.contains(cell.parts)) {
      options how;
      how.parts = cell.parts;
      predictions[cell.parts] = predict(files, how);
    }
    for (const prediction& p : predictions[cell.parts]) {
      if (!detail::is_case_of(p, cell, of.cells)) continue;
      if (of.unit_of(cell) == "W") {
        row.reason = "no energy in the result files (bench_model --energy)";
        for (own_figure& power : detail::powers_of(p, cell, files)) {
          detail::add_figure(row.own, std::move(power));
        }
      } else {
        detail::add_figure(row.own, detail::figure_of(p, of, cell, files, chosen));
      }
    }
    if (!row.own.empty()) row.reason.clear();
  }
  return rows;
}

LAYERBENCH_INLINE std::vector<memory_figure> all_memory(std::span<const study_row> rows) {
  std::vector<memory_figure> all;
  for (const study_row& row : rows) all.insert(all.end(), row.memory.begin(), row.memory.end());
  return all;
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
