// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/analysis/study/study_file.hpp>

/// The memory of a study's cells, as predicted for the framework of each.
namespace layerbench::analysis {

/// The predicted memory of a cell's step beside a published figure.
struct memory_figure {
  std::string framework;
  memory_policy policy;
  std::size_t column;              ///< of the study
  std::optional<double> contexts;  ///< MiB of driver and libraries; nothing: not known
  double value;                    ///< MiB, with known contexts
  double live;       ///< MiB of the tensors that are live at the peak: no policy needs less
  double published;  ///< MiB
  double error;      ///< relative to the published figure
};

/// The figures of a cell in MiB, one for each compared column that has a published one. Empty
/// without an answer. `shapes` is the directory of the shape files. Throws what loading the cell's
/// model throws.
[[nodiscard]] std::vector<memory_figure> memory_figures(const study& of, const study_cell& cell,
                                                        const std::filesystem::path& shapes);

/// How far the figures of a framework are from the published ones of a column.
struct memory_error {
  memory_figure like;  ///< one of the figures
  std::size_t figures;
  std::size_t below_live;  ///< figures whose published one is below `live`, so that it is no peak
  double mean;             ///< of the errors' magnitudes
  double bias;             ///< mean error
};

/// One for each framework and column of the figures, in the order of the study file.
[[nodiscard]] std::vector<memory_error> memory_errors(const study& of,
                                                      std::span<const memory_figure> figures);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/study/memory_figures-inl.hpp>
#endif
