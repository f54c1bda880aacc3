// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <layerbench/analysis/study/memory_figures.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::vector<memory_figure> memory_figures(const study& of, const study_cell& cell,
                                                            const std::filesystem::path& shapes) {
  const framework_memory* const framework = of.framework_of(cell);
  if (framework == nullptr || !framework->policy) return {};
  const model::graph graph = model::load(model::find(cell.model, shapes), cell.batch);
  const model::step step = step_in_memory(graph, cell.phase, dtype_from(cell.dtype).value());
  const auto mebibytes = [](std::int64_t bytes) {
    return static_cast<double>(bytes) / (std::int64_t{1} << 20);
  };
  const double tensors = mebibytes(memory_of(step, *framework->policy).bytes());
  const double live = mebibytes(live_memory_of(step).at_peak().total());
  std::vector<memory_figure> figures;
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    if (!of.memory.compared[i] || !cell.published[i]) continue;
    const std::optional<double> contexts = framework->contexts[i];
    const double value = tensors + contexts.value_or(0);
    figures.push_back({framework->name, *framework->policy, i, contexts, value, live,
                       *cell.published[i], value / *cell.published[i] - 1});
  }
  return figures;
}

LAYERBENCH_INLINE std::vector<memory_error> memory_errors(const study& of,
                                                          std::span<const memory_figure> figures) {
  std::vector<memory_error> errors;
  for (const framework_memory& framework : of.memory.frameworks) {
    for (std::size_t column = 0; column < of.columns.size(); ++column) {
      std::vector<double> all;
      std::vector<double> magnitudes;
      const memory_figure* like = nullptr;
      std::size_t below_live = 0;
      for (const memory_figure& figure : figures) {
        if (figure.framework != framework.name || figure.column != column) continue;
        all.push_back(figure.error);
        magnitudes.push_back(std::abs(figure.error));
        if (figure.published < figure.live) ++below_live;
        like = &figure;
      }
      if (like == nullptr) continue;
      errors.push_back({*like, all.size(), below_live, stats::mean(magnitudes), stats::mean(all)});
    }
  }
  return errors;
}

}  // namespace layerbench::analysis
