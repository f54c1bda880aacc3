// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/estimate.hpp>
#include <layerbench/analysis/predict/training_cost.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::int64_t steps_of(const training_run& run, const prediction& p) {
  const std::int64_t batch = p.configuration.batch * p.configuration.ranks();
  return run.epochs * ((run.images + batch - 1) / batch);
}

LAYERBENCH_INLINE std::optional<estimate> hours_of(const training_run& run, const prediction& p) {
  if (p.configuration.phase() != "training" || !p.step || p.partial()) return std::nullopt;
  constexpr double seconds_per_hour = 3600;
  return seconds_of(p).times(static_cast<double>(steps_of(run, p)) / seconds_per_hour);
}

LAYERBENCH_INLINE std::string text(std::span<const prediction> predictions,
                                   const training_run& run) {
  table t{{{"case"}, {"steps", align::right}, {"hours", align::right}}, {}};
  if (run.price_per_hour) t.columns.push_back({"price", align::right});
  for (const prediction& p : predictions) {
    const std::optional<estimate> hours = hours_of(run, p);
    if (!hours) continue;
    std::vector<std::string> row{p.configuration.text(), std::to_string(steps_of(run, p)),
                                 with_interval(*hours)};
    if (run.price_per_hour) row.push_back(with_interval(hours->times(*run.price_per_hour)));
    t.rows.push_back(std::move(row));
  }
  return fmt::format("\n{} epochs of {} images, without input, evaluation and checkpoints:\n\n{}",
                     run.epochs, run.images, text(t));
}

LAYERBENCH_INLINE void add_training_runs(json::value& to, std::span<const prediction> predictions,
                                         const training_run& run) {
  to["training_runs"] = json::value::array();
  for (const prediction& p : predictions) {
    const std::optional<estimate> hours = hours_of(run, p);
    if (!hours) continue;
    json::value item{{"case", p.configuration.text()},
                     {"epochs", run.epochs},
                     {"images", run.images},
                     {"steps", steps_of(run, p)},
                     {"hours", to_json(*hours)}};
    if (run.price_per_hour) {
      item["price_per_hour"] = *run.price_per_hour;
      item["price"] = to_json(hours->times(*run.price_per_hour));
    }
    to["training_runs"].push_back(std::move(item));
  }
}

}  // namespace layerbench::analysis
