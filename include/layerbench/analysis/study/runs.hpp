// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/study/study_file.hpp>

/// The runs of bench_model that measure the cells of a study.
namespace layerbench::analysis {

/// Cells that one run of bench_model measures: those of a phase, data type and batch.
struct study_run {
  std::string phase;
  std::string dtype;
  std::int64_t batch;
  std::vector<std::string> models;

  /// Its result file, in the folder of the study's results.
  [[nodiscard]] std::string file() const;
  /// The options of bench_model, without those on its files and its time.
  [[nodiscard]] std::vector<std::string> options() const;
};

/// The runs for the cells, in the order in which cells need them.
[[nodiscard]] std::vector<study_run> runs_of(std::span<const study_cell> cells);

/// The cells of the step with the fewest multiply-accumulates.
[[nodiscard]] std::vector<study_cell> smallest(std::span<const study_cell> cells,
                                               const std::filesystem::path& shapes);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/study/runs-inl.hpp>
#endif
