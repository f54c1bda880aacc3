// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/predict/interval.hpp>
#include <layerbench/analysis/predict/predictor.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/shape/record.hpp>

/// Ratios of times, their intervals, and verdicts on them.
namespace layerbench::analysis {

/// The verdict on a ratio of times.
enum class verdict : std::uint8_t {
  faster,   ///< significantly below 1
  slower,   ///< significantly above 1
  same,     ///< the interval lies inside the margin
  unclear,  ///< none of these: the timings vary too much, or are too few
};

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 4>
    layerbench::enum_names<layerbench::analysis::verdict>{"faster", "slower", "same", "unclear"};

namespace layerbench::analysis {

/// A new time divided by an old one.
struct time_ratio {
  double old_seconds = 0;
  double new_seconds = 0;
  std::size_t old_rounds = 0;  ///< rounds that count; over several layers weighted by their times
  std::size_t new_rounds = 0;
  double low = 0;  ///< 95 % interval of new / old; with few rounds the range of single rounds
  double high = 0;
  /// The probability of a ratio at least this far from 1 if nothing differs; nothing for too few
  /// rounds or pairs (stats::min_sample_size, min_pairs).
  std::optional<double> p = {};

  [[nodiscard]] double value() const { return new_seconds / old_seconds; }
  /// Whether there are bounds: a single round, or a single pair, has none.
  [[nodiscard]] bool has_interval() const { return old_rounds + new_rounds > 2; }
};

namespace detail {

/// The empirical influence of each round or run on a sum of means, relative to the sum (Davison and
/// Hinkley, Bootstrap Methods and their Application, 2.7.2). All influences add up to 0.
template <class Unit>
using influences = std::map<Unit, double>;

/// A run and a round of it: the unit that varies independently.
using run_round = std::pair<std::size_t, std::int64_t>;

/// A weighted sum of timings and its variation over rounds and runs.
struct varying_sum {
  double seconds = 0;
  double rounds = 0;
  influences<run_round> by_round;
  influences<std::size_t> by_run;
};

[[nodiscard]] inline varying_sum vary(std::span<const term> terms) {
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

/// The variance of a ratio's logarithm, with its degrees of freedom.
struct variance {
  double value;
  double degrees_of_freedom;
};

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

/// Widens the interval of `ratio` and raises its p to the values that follow from the variance.
inline void widen(const variance& of, time_ratio& ratio) {
  const double error = std::sqrt(of.value);
  const double width = std::exp(error * stats::student_t_quantile(of.degrees_of_freedom));
  const double change = std::abs(std::log(ratio.value()));
  const double p =
      change == 0 ? 1 : stats::student_t_p_value(change / error, of.degrees_of_freedom);
  ratio.low = std::min(ratio.low, ratio.value() / width);
  ratio.high = std::max(ratio.high, ratio.value() * width);
  ratio.p = std::max(p, ratio.p.value_or(0));
}

/// A ratio without p, for sides with few rounds. Its interval spans the ratios of single rounds.
[[nodiscard]] inline time_ratio of_few_rounds(time_ratio ratio, std::span<const term> old,
                                              std::span<const term> now) {
  std::size_t common = 0;
  const step_time before = add_up(ratio.old_seconds, old, common);
  const step_time after = add_up(ratio.new_seconds, now, common);
  ratio.low = after.sampling_low / before.sampling_high;
  ratio.high = after.sampling_high / before.sampling_low;
  return ratio;
}

/// The rounds as an integer; rounding errors of the sum must not lose one.
[[nodiscard]] inline std::size_t whole_rounds(double rounds) {
  return static_cast<std::size_t>(rounds + 1e-6);
}

}  // namespace detail

/// The ratio of two sums of terms (not empty), `now` by `old`, with Student's 95 % interval of its
/// logarithm. The units that vary are whole rounds, because a disturbance hits everything measured
/// in its round. Runs differ by more than their rounds do, so with several runs on a side the wider
/// interval and the larger p of both kinds of variation count. With fewer than 5 rounds on a side
/// there is no p, and the interval spans the single rounds.
[[nodiscard]] inline time_ratio ratio_of(std::span<const term> old, std::span<const term> now) {
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

/// A ratio among others, with its verdict.
struct compared {
  time_ratio ratio;
  double p = 1;  ///< adjusted for the number of ratios
  analysis::verdict verdict = verdict::unclear;

  [[nodiscard]] bool changed() const {
    return verdict == verdict::faster || verdict == verdict::slower;
  }
};

/// The p below which a ratio is faster or slower: a false alarm is worse than an unclear verdict.
inline constexpr double significance = 0.01;

namespace detail {

/// The verdict on a ratio with the adjusted p value `p`.
[[nodiscard]] inline verdict verdict_on(const time_ratio& ratio, double p, double margin) {
  if (!ratio.p) return verdict::unclear;
  if (ratio.low >= 1 / (1 + margin) && ratio.high <= 1 + margin) return verdict::same;
  if (p >= significance) return verdict::unclear;
  return ratio.value() < 1 ? verdict::faster : verdict::slower;
}

}  // namespace detail

/// Sets the verdicts of `all`, whose type derives from compared. An interval inside
/// [1 / (1 + margin), 1 + margin] is `same`, even if the difference is significant. Else a ratio is
/// `faster` or `slower` if its p, adjusted by Holm's method, is below 1 %.
template <class Compared>
void set_verdicts(std::vector<Compared>& all, double margin) {
  std::vector<double> p;
  for (const Compared& one : all) p.push_back(one.ratio.p.value_or(1));
  const std::vector<double> adjusted = stats::holm(p);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].p = adjusted[i];
    all[i].verdict = detail::verdict_on(all[i].ratio, adjusted[i], margin);
  }
}

}  // namespace layerbench::analysis
