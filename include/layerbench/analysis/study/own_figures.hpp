// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/analysis/study/memory_figures.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/result/measurement.hpp>

/// What result files say about the cells of a study, and what is predicted of their memory.
namespace layerbench::analysis {

/// A figure of this machine in the cell's unit, with its interval.
struct own_figure {
  /// Backend, settings and, unless the cell names them, threads: "onednn, 2 threads". Of power also
  /// the class of evidence and what was counted: "processor's counter (package, DRAM)".
  std::string machine;
  std::string device;
  std::vector<std::string> files;
  std::optional<double> value;  ///< nothing: layers are missing, or no step of the cell's devices
  double low = 0;
  double high = 0;
  std::string method;
  std::string reason;    ///< why there is no value
  double disturbed = 0;  ///< share of the timings that were disturbed
};

/// A cell of a study, and the figures of this machine.
struct study_row {
  study_cell cell;
  std::vector<own_figure> own;  ///< of each machine at most one
  std::string reason;           ///< why there is none; empty if there is
  std::vector<memory_figure> memory = {};
};

/// What the figures need besides result files.
struct figure_options {
  std::filesystem::path shapes = {};         ///< directory of the shape files
  std::optional<network> interconnect = {};  ///< joins the devices of cells of several
};

/// The chosen cells of a study with the figures that result files give them, by predict(); those of
/// trainings on several devices by predict_data_parallel(), with weak scaling and the contention
/// that the files have, unless they have steps of as many ranks. What it throws is the reason of
/// the figure. Power is that of
/// steps whose energy was measured; memory is that of memory_figures(). Throws what predict() and
/// contentions() throw.
[[nodiscard]] std::vector<study_row> own_figures(const study& of, std::span<const study_cell> cells,
                                                 std::span<const result::results> files,
                                                 const figure_options& chosen = {});

/// The predicted memory of all rows.
[[nodiscard]] std::vector<memory_figure> all_memory(std::span<const study_row> rows);

/// The machines of the rows, in the order of their first figures.
[[nodiscard]] std::vector<std::string> machines(std::span<const study_row> rows);

/// The figure of a machine in a row, or nothing.
[[nodiscard]] const own_figure* figure_of_machine(const study_row& row, const std::string& machine);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/study/own_figures-inl.hpp>
#endif
