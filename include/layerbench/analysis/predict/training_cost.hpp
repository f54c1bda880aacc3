// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/base/rounding.hpp>

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
  const std::int64_t batch = p.model_case.batch * p.model_case.ranks();
  return run.epochs * ceil_div(run.images, batch);
}

/// Hours of the run: steps alone, without input, evaluation and checkpoints. Nothing for inference
/// and where layers are missing.
[[nodiscard]] inline std::optional<estimate> hours_of(const training_run& run,
                                                      const prediction& p) {
  if (p.model_case.phase() != "training" || !p.step || p.partial()) return std::nullopt;
  constexpr double seconds_per_hour = 3600;
  return seconds_of(p).times(static_cast<double>(steps_of(run, p)) / seconds_per_hour);
}

/// What they cost; nothing without a price.
[[nodiscard]] inline std::optional<estimate> price_of(const training_run& run,
                                                      const estimate& hours) {
  if (!run.price_per_hour) return std::nullopt;
  return hours.times(*run.price_per_hour);
}

}  // namespace layerbench::analysis
