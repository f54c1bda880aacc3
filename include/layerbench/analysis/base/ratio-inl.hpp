// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <set>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

namespace detail {

LAYERBENCH_INLINE varying_sum vary(std::span<const term> terms) {
  varying_sum sum;
  double seconds_by_rounds = 0;
  for (const auto& [weight, of] : terms) {
    const std::map<round_id, double> counted = of->counted();
    const auto n = static_cast<double>(counted.size());
    double mean = 0;
    for (const auto& [round, value] : counted) mean += value / n;
    std::set<run_round> own_rounds;
    for (const auto& [round, value] : counted) {
      const run_round unit{of->runs.at(round.first), round.second};
      sum.by_round[unit] += weight * (value - mean) / n;
      own_rounds.insert(unit);
    }
    const double seconds = weight * of->seconds();
    sum.seconds += seconds;
    seconds_by_rounds += seconds / static_cast<double>(own_rounds.size());
  }
  sum.rounds = sum.seconds / seconds_by_rounds;
  for (auto& [unit, influence] : sum.by_round) {
    influence /= sum.seconds;
    sum.by_run[unit.first] += influence;
  }
  return sum;
}

/// The variance between rounds, which differs between the sides (Welch, The Generalization of
/// `Student's' Problem when Several Different Population Variances are Involved, 1947).
[[nodiscard]] inline variance between_rounds(const varying_sum& old, const varying_sum& now) {
  double value = 0;
  double by_freedom = 0;
  for (const varying_sum* side : {&old, &now}) {
    double squares = 0;
    for (const auto& [round, influence] : side->by_round) squares += influence * influence;
    const double of_side = squares * side->rounds / (side->rounds - 1);
    value += of_side;
    by_freedom += of_side * of_side / (side->rounds - 1);
  }
  if (by_freedom == 0) return {value, old.rounds + now.rounds - 2};
  return {value, value * value / by_freedom};
}

/// The variance between runs, which includes that between their rounds (Kalibera and Jones,
/// Rigorous Benchmarking in Reasonable Time, 2013). Both sides are assumed to have the same
/// variance, so that one run can be compared with several. Nothing if each side has one run.
[[nodiscard]] inline std::optional<variance> between_runs(const varying_sum& old,
                                                          const varying_sum& now) {
  double squares = 0;
  double degrees_of_freedom = 0;
  double by_runs = 0;
  for (const varying_sum* side : {&old, &now}) {
    const auto runs = static_cast<double>(side->by_run.size());
    for (const auto& [run, influence] : side->by_run)
      squares += runs * runs * influence * influence;
    degrees_of_freedom += runs - 1;
    by_runs += 1 / runs;
  }
  if (degrees_of_freedom == 0) return std::nullopt;
  return variance{squares / degrees_of_freedom * by_runs, degrees_of_freedom};
}

LAYERBENCH_INLINE void widen(const variance& of, time_ratio& ratio) {
  const double error = std::sqrt(of.value);
  const double width = std::exp(error * stats::student_t_quantile(of.degrees_of_freedom));
  const double change = std::abs(std::log(ratio.value()));
  const double p =
      change == 0 ? 1 : stats::student_t_p_value(change / error, of.degrees_of_freedom);
  ratio.low = std::min(ratio.low, ratio.value() / width);
  ratio.high = std::max(ratio.high, ratio.value() * width);
  ratio.p = std::max(p, ratio.p.value_or(0));
}

LAYERBENCH_INLINE time_ratio of_few_rounds(time_ratio ratio, std::span<const term> old,
                                           std::span<const term> now) {
  std::size_t common = 0;
  const step_time before = add_up(ratio.old_seconds, old, common);
  const step_time after = add_up(ratio.new_seconds, now, common);
  ratio.low = after.sampling_low / before.sampling_high;
  ratio.high = after.sampling_high / before.sampling_low;
  return ratio;
}

}  // namespace detail

LAYERBENCH_INLINE time_ratio ratio_of(std::span<const term> old, std::span<const term> now) {
  const detail::varying_sum before = detail::vary(old);
  const detail::varying_sum after = detail::vary(now);
  time_ratio ratio{before.seconds, after.seconds, detail::whole_rounds(before.rounds),
                   detail::whole_rounds(after.rounds)};
  if (std::min(ratio.old_rounds, ratio.new_rounds) < stats::min_sample_size) {
    return detail::of_few_rounds(ratio, old, now);
  }
  ratio.low = ratio.high = ratio.value();
  detail::widen(detail::between_rounds(before, after), ratio);
  if (const auto runs = detail::between_runs(before, after)) detail::widen(*runs, ratio);
  return ratio;
}

}  // namespace layerbench::analysis
