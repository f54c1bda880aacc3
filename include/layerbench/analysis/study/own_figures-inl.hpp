// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
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

/// What the figures of cells are made from.
struct figure_sources {
  std::span<const result::results> files;
  const figure_options& chosen;
  std::vector<measured_contention> contentions = {};  ///< while gradients are sent
};

/// Whether devices of a cell add up gradients, which takes time.
[[nodiscard]] inline bool adds_up_gradients(const study_cell& cell) {
  return cell.devices > 1 && cell.phase == "training";
}

/// The step of a cell's devices, in seconds: as measured on as many ranks, or scaled up. Throws
/// what predict_data_parallel() throws.
[[nodiscard]] inline estimate step_of(const prediction& p, const study_cell& cell,
                                      const figure_sources& from) {
  if (!adds_up_gradients(cell) || p.model_case.ranks() > 1) return seconds_of(p);
  options how;
  how.shapes = from.chosen.shapes;
  const std::vector<data_parallel> scaled =
      predict_data_parallel({&p, 1}, from.files, how,
                            {{cell.devices}, from.chosen.interconnect.value()}, from.contentions);
  if (scaled.empty()) {
    throw error("the model lacks layers that its import left out: several devices need all layers",
                exit_code::incomplete);
  }
  const scaled_step& step = scaled.front().steps.front();
  return {step.step.seconds, step.seconds_low, step.seconds_high};
}

/// Sets the value of a figure, and its bounds, in the cell's unit. Throws what step_of() throws.
inline void set_value(own_figure& own, const prediction& p, const study_cell& cell,
                      const figure_sources& from) {
  if (cell.unit == "share") {
    own.value = 0;
    for (const auto& [op, share] : shares_by_op(p)) {
      if (std::ranges::find(cell.ops, op) != cell.ops.end()) *own.value += share;
    }
    return;
  }
  const estimate step = step_of(p, cell, from);
  if (const std::optional<double> seconds = seconds_of_unit(cell.unit)) {
    const estimate all = step.times(static_cast<double>(cell.epochs) * cell.steps / *seconds);
    own.value = all.value;
    own.low = all.low;
    own.high = all.high;
  } else {
    const auto images = static_cast<double>(p.model_case.batch * cell.devices);
    own.value = images / step.value;
    own.low = images / step.high;
    own.high = images / step.low;
  }
}

[[nodiscard]] inline own_figure figure_of(const prediction& p, const study_cell& cell,
                                          const figure_sources& from) {
  own_figure own{machine_of(p, cell), device_of(p, from.files), p.files, {}, 0, 0, p.method, "",
                 p.disturbed};
  if (!p.step) {
    const std::string error = first_error(p, from.files);
    own.reason = fmt::format("{} layers not measured{}{}", p.missing.size(),
                             error.empty() ? "" : ": ", error);
    return own;
  }
  try {
    set_value(own, p, cell, from);
  } catch (const error& e) {
    own.reason = e.what();
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

/// Whether a prediction is of a cell's step, whatever its threads and devices.
[[nodiscard]] inline bool has_step_of(const prediction& p, const study_cell& cell) {
  return p.model_case.model == cell.model && p.model_case.phase() == cell.phase &&
         p.model_case.batch == cell.batch && p.model_case.dtype == cell.dtype;
}

/// Whether a prediction is of a cell's step, among the `cells` of a study: on one rank, or on as
/// many as the cell has devices.
[[nodiscard]] inline bool is_case_of(const prediction& p, const study_cell& cell,
                                     std::span<const study_cell> cells) {
  if (!has_step_of(p, cell) || p.model_case.streams() > 1) return false;
  if (p.model_case.ranks() > 1 && p.model_case.ranks() != cell.devices) return false;
  if (cell.threads != 0 || p.threads == 0) return p.threads == cell.threads;
  return std::ranges::none_of(cells, [&](const study_cell& other) {
    return other.threads == p.threads && has_step_of(p, other);
  });
}

/// Why a cell has no figure, whatever was measured; empty if it can have one.
[[nodiscard]] inline std::string open_question(const study& of, const study_cell& cell) {
  if (!cell.answerable()) return cell.unanswered;
  if (cell.unit == "MiB") {
    const framework_memory* const framework = of.framework_of(cell);
    return framework == nullptr ? "MiB: the study file says no framework" : framework->unanswered;
  }
  if (cell.unit == "W" && adds_up_gradients(cell)) return "energy is measured on one device";
  return "";
}

/// Why the step of one rank says nothing of a cell's devices; empty if it does.
[[nodiscard]] inline std::string scaling_question(const study_cell& cell,
                                                  const figure_options& chosen) {
  if (!adds_up_gradients(cell)) return "";
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
  detail::figure_sources from{files, chosen};
  if (chosen.interconnect) {
    options training;
    training.phase = "training";
    from.contentions = contentions(files, training);
  }
  std::map<std::vector<model::step_part>, std::vector<prediction>> predictions;
  std::vector<study_row> rows;
  for (const study_cell& cell : cells) {
    rows.push_back({cell, {}, detail::open_question(of, cell)});
    study_row& row = rows.back();
    if (!row.reason.empty()) continue;
    if (cell.unit == "MiB") {
      row.memory = memory_figures(of, cell, chosen.shapes);
      if (row.memory.empty()) row.reason = "no published figure is of one device";
      continue;
    }
    const std::string unscaled = detail::scaling_question(cell, chosen);
    row.reason = unscaled.empty() ? "not measured" : unscaled;
    if (!files.empty() && !predictions.contains(cell.parts)) {
      options how;
      how.parts = cell.parts;
      predictions[cell.parts] = predict(files, how);
    }
    for (const prediction& p : predictions[cell.parts]) {
      if (!detail::is_case_of(p, cell, of.cells)) continue;
      if (cell.unit == "W") {
        row.reason = "no energy in the result files (bench_model --energy)";
        for (own_figure& power : detail::powers_of(p, cell, files)) {
          detail::add_figure(row.own, std::move(power));
        }
      } else if (unscaled.empty() || p.model_case.ranks() > 1) {
        detail::add_figure(row.own, detail::figure_of(p, cell, from));
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
