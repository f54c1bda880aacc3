// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/estimate.hpp>
#include <layerbench/analysis/predict/training_cost.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::int64_t steps_of(const training_run& run, const prediction& p) {
  const std::int64_t batch = p.model_case.batch * p.model_case.ranks();
  return run.epochs * ((run.images + batch - 1) / batch);
}

LAYERBENCH_INLINE std::optional<estimate> hours_of(const training_run& run, const prediction& p) {
  if (p.model_case.phase() != "training" || !p.step || p.partial()) return std::nullopt;
  constexpr double seconds_per_hour = 3600;
  return seconds_of(p).times(static_cast<double>(steps_of(run, p)) / seconds_per_hour);
}

}  // namespace layerbench::analysis
