// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ranges>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/timing.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::map<round_id, double> timing::counted() const {
  std::map<round_id, double> all = undisturbed();
  const double limit = stats::outlier_limit(values_of(all));
  std::erase_if(all, [&](const auto& round) { return round.second > limit; });
  return all;
}

LAYERBENCH_INLINE double timing::seconds() const {
  return stats::mean_without_outliers(values_of(undisturbed()));
}

LAYERBENCH_INLINE timing timing::of_run(std::size_t run) const {
  timing result = *this;
  std::erase_if(result.rounds,
                [&](const auto& round) { return runs.at(round.first.first) != run; });
  std::erase_if(result.disturbed, [&](const round_id& id) { return runs.at(id.first) != run; });
  return result;
}

LAYERBENCH_INLINE void timing::append(const timing& other) {
  for (const auto& [round, value] : other.rounds) {
    rounds.emplace(round_id{runs.size() + round.first, round.second}, value);
  }
  for (const round_id& round : other.disturbed) {
    disturbed.emplace(runs.size() + round.first, round.second);
  }
  runs.insert(runs.end(), other.runs.begin(), other.runs.end());
  if (!flops) flops = other.flops;
  if (!padded_flops) padded_flops = other.padded_flops;
}

LAYERBENCH_INLINE std::map<round_id, double> timing::undisturbed() const {
  constexpr std::size_t enough = 3;
  std::map<round_id, double> all = rounds;
  if (rounds.size() - disturbed.size() >= enough) {
    std::erase_if(all, [&](const auto& round) { return disturbed.contains(round.first); });
  }
  return all;
}

LAYERBENCH_INLINE std::vector<double> timing::values_of(const std::map<round_id, double>& all) {
  const auto values = std::views::values(all);
  return {values.begin(), values.end()};
}

LAYERBENCH_INLINE double estimated_seconds(const measurement& row) {
  const bool naive = row.name.cache == "hot" && !row.name.model_case.contended();
  return naive ? row.seconds : row.mean_seconds();
}

}  // namespace layerbench::result
