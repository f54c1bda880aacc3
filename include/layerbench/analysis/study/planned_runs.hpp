// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/totals.hpp>

/// The runs of bench_model that measure the cells of a study.
namespace layerbench::analysis {

/// Cells that one run of bench_model measures: those of a phase, data type, batch and number of
/// threads.
struct study_run {
  std::string phase;
  std::string dtype;
  std::int64_t batch;
  std::int64_t threads;  ///< 0: as many as bench_model takes
  std::vector<std::string> models;

  [[nodiscard]] bool measures(const study_cell& cell) const {
    return cell.measurable() && phase == cell.phase && dtype == cell.dtype && batch == cell.batch &&
           threads == cell.threads;
  }
  /// Its result file, in the folder of the study's results.
  [[nodiscard]] std::string file() const {
    return fmt::format("{}_{}_batch{}{}.json", phase, dtype, batch,
                       threads > 0 ? fmt::format("_threads{}", threads) : "");
  }
  /// The options of bench_model, without those on its files and its time.
  [[nodiscard]] std::vector<std::string> options() const {
    std::vector<std::string> words{fmt::format("--model={}", fmt::join(models, ",")),
                                   "--phase=" + phase, fmt::format("--batch={}", batch),
                                   "--dtype=" + dtype};
    if (threads > 0) words.push_back(fmt::format("--threads={}", threads));
    return words;
  }
};

/// The runs for the cells, in the order in which cells need them.
[[nodiscard]] inline std::vector<study_run> runs_of(std::span<const study_cell> cells) {
  std::vector<study_run> runs;
  for (const study_cell& cell : cells) {
    if (!cell.measurable()) continue;
    auto run = std::ranges::find_if(runs, [&](const study_run& one) { return one.measures(cell); });
    if (run == runs.end()) {
      runs.push_back({cell.phase, cell.dtype, cell.batch, cell.threads, {}});
      run = std::prev(runs.end());
    }
    if (std::ranges::find(run->models, cell.model) == run->models.end()) {
      run->models.push_back(cell.model);
    }
  }
  return runs;
}

/// The cells of the step with the fewest multiply-accumulates.
[[nodiscard]] inline std::vector<study_cell> smallest(std::span<const study_cell> cells,
                                                      const std::filesystem::path& shapes) {
  const study_cell* least = nullptr;
  auto least_macs = std::numeric_limits<std::int64_t>::max();
  for (const study_cell& cell : cells) {
    if (!cell.measurable()) continue;
    const model::graph graph = model::load(model::find(cell.model, shapes), cell.batch);
    // Each gradient of a convolution or product takes as many as the forward pass.
    const std::int64_t passes = cell.phase == "training" ? 3 : 1;
    const std::int64_t macs = passes * model::count(graph).macs;
    if (macs >= least_macs) continue;
    least_macs = macs;
    least = &cell;
  }
  std::vector<study_cell> chosen;
  for (const study_cell& cell : cells) {
    if (least != nullptr && cell.same_step(*least)) chosen.push_back(cell);
  }
  return chosen;
}

}  // namespace layerbench::analysis
