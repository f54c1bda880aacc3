// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/estimate.hpp>
#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/shape/json.hpp>

/// What a whole training takes, in time and money: steps are predicted, their number and the price
/// are the user's.
namespace layerbench::analysis {

/// A training as its user describes it.
struct training_run {
  std::int64_t epochs = 0;
  std::int64_t images = 0;                    ///< in an epoch
  std::optional<double> price_per_hour = {};  ///< of the machine, in any currency
};

/// Steps of the run: the last batch of an epoch may be smaller, but takes a step.
[[nodiscard]] inline std::int64_t steps_of(const training_run& run, const prediction& p) {
  const std::int64_t batch = p.configuration.batch * p.configuration.ranks();
  return run.epochs * ((run.images + batch - 1) / batch);
}

/// Hours of the run: steps alone, without input, evaluation and checkpoints. Nothing for inference
/// and where layers are missing.
[[nodiscard]] inline std::optional<estimate> hours_of(const training_run& run,
                                                      const prediction& p) {
  if (p.configuration.phase() != "training" || !p.step || p.partial()) return std::nullopt;
  constexpr double seconds_per_hour = 3600;
  return seconds_of(p).times(static_cast<double>(steps_of(run, p)) / seconds_per_hour);
}

/// One row per training case.
[[nodiscard]] inline std::string text(std::span<const prediction> predictions,
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

/// Adds the list "training_runs" to what to_json makes of the predictions.
inline void add_training_runs(json::value& to, std::span<const prediction> predictions,
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
