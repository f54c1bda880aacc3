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

/// Ratios of times, how sure they are, and what may be said of them.
namespace layerbench::analysis {

/// What a ratio of times says.
enum class verdict : std::uint8_t {
  faster,   ///< it is surely below 1
  slower,   ///< it is surely above 1
  same,     ///< its interval lies inside the margin
  unclear,  ///< neither: the timings vary too much, or are too few
};

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 4>
    layerbench::enum_names<layerbench::analysis::verdict>{"faster", "slower", "same", "unclear"};

namespace layerbench::analysis {

/// A new time by an old one.
struct time_ratio {
  double old_seconds = 0;
  double new_seconds = 0;
  std::size_t old_rounds = 0;  ///< that count; those of several layers weighted by their times
  std::size_t new_rounds = 0;
  double low = 0;  ///< of new / old: its 95 % interval, or of single rounds where those are few
  double high = 0;
  /// How probable a ratio so far from 1 is where nothing differs; nothing where a side has fewer
  /// than 5 rounds.
  std::optional<double> p = {};

  [[nodiscard]] double value() const { return new_seconds / old_seconds; }
};

namespace detail {

/// By how much each round or run moves a sum of means, relative to the sum: its empirical influence
/// (Davison and Hinkley, Bootstrap Methods and their Application, 2.7.2). All add up to 0.
template <class Unit>
using shifts = std::map<Unit, double>;

/// Runs and their rounds: what varies independently.
using run_round = std::pair<std::size_t, std::int64_t>;

/// A weighted sum of timings and how it varies.
struct varying_sum {
  double seconds = 0;
  double rounds = 0;
  shifts<run_round> by_round;
  shifts<std::size_t> by_run;
};

[[nodiscard]] inline varying_sum vary(std::span<const term> terms) {
  varying_sum sum;
  double seconds_by_rounds = 0;
  for (const auto& [weight, of] : terms) {
    const std::map<round_id, double> counted = of->counted();
    const auto n = static_cast<double>(counted.size());
    double mean = 0;
    for (const auto& [round, value] : counted) mean += value / n;
    std::set<run_round> own;
    for (const auto& [round, value] : counted) {
      const run_round unit{of->runs.at(round.first), round.second};
      sum.by_round[unit] += weight * (value - mean) / n;
      own.insert(unit);
    }
    const double seconds = weight * of->seconds();
    sum.seconds += seconds;
    seconds_by_rounds += seconds / static_cast<double>(own.size());
  }
  sum.rounds = sum.seconds / seconds_by_rounds;
  for (auto& [unit, shift] : sum.by_round) {
    shift /= sum.seconds;
    sum.by_run[unit.first] += shift;
  }
  return sum;
}

/// The variance of a ratio's logarithm, and the degrees of freedom with which it is known.
struct variance {
  double value;
  double freedom;
};

/// From how rounds vary, the sides' independent of one another (Welch, The Generalization of
/// `Student's' Problem when Several Different Population Variances are Involved, 1947).
[[nodiscard]] inline variance between_rounds(const varying_sum& old, const varying_sum& now) {
  double value = 0;
  double by_freedom = 0;
  for (const varying_sum* side : {&old, &now}) {
    double squares = 0;
    for (const auto& [round, shift] : side->by_round) squares += shift * shift;
    const double own = squares * side->rounds / (side->rounds - 1);
    value += own;
    by_freedom += own * own / (side->rounds - 1);
  }
  if (by_freedom == 0) return {value, old.rounds + now.rounds - 2};
  return {value, value * value / by_freedom};
}

/// From how runs vary, their rounds' variation included (Kalibera and Jones, Rigorous Benchmarking
/// in Reasonable Time, 2013), taken to do so by as much on either side, so that one run of a side
/// can be held against several of the other. Nothing where there is one of each.
[[nodiscard]] inline std::optional<variance> between_runs(const varying_sum& old,
                                                          const varying_sum& now) {
  double squares = 0;
  double freedom = 0;
  double by_runs = 0;
  for (const varying_sum* side : {&old, &now}) {
    const auto runs = static_cast<double>(side->by_run.size());
    for (const auto& [run, shift] : side->by_run) squares += runs * runs * shift * shift;
    freedom += runs - 1;
    by_runs += 1 / runs;
  }
  if (freedom == 0) return std::nullopt;
  return variance{squares / freedom * by_runs, freedom};
}

/// Widens the interval of `ratio`, and raises its p, to what that variance makes of it.
inline void consider(const variance& of, time_ratio& ratio) {
  const double error = std::sqrt(of.value);
  const double width = std::exp(error * stats::students_quantile(of.freedom));
  const double change = std::abs(std::log(ratio.value()));
  const double p = change == 0 ? 1 : stats::students_p(change / error, of.freedom);
  ratio.low = std::min(ratio.low, ratio.value() / width);
  ratio.high = std::max(ratio.high, ratio.value() * width);
  ratio.p = std::max(p, ratio.p.value_or(0));
}

/// `ratio` where a side has too few rounds: between its extreme rounds, which says nothing of how
/// probable it is.
[[nodiscard]] inline time_ratio of_few_rounds(time_ratio ratio, std::span<const term> old,
                                              std::span<const term> now) {
  std::size_t common = 0;
  const step_time before = add_up(ratio.old_seconds, old, common);
  const step_time after = add_up(ratio.new_seconds, now, common);
  ratio.low = after.sampling_low / before.sampling_high;
  ratio.high = after.sampling_high / before.sampling_low;
  return ratio;
}

/// Whole rounds, of which a sum may miss one by the last digit.
[[nodiscard]] inline std::size_t whole(double rounds) {
  return static_cast<std::size_t>(rounds + 1e-6);
}

}  // namespace detail

/// The ratio of two sums of `terms` (not empty), `now` by `old`, with Student's 95 % interval of
/// its logarithm. What varies is whole rounds, since what disturbs a round disturbs all that was
/// measured in it; and where a side has several runs also those, which differ by more than their
/// rounds do: the wider interval counts, and the larger p. Below 5 rounds on a side there is
/// no p, and the interval is that of single rounds.
[[nodiscard]] inline time_ratio ratio_of(std::span<const term> old, std::span<const term> now) {
  const detail::varying_sum before = detail::vary(old);
  const detail::varying_sum after = detail::vary(now);
  time_ratio ratio{before.seconds, after.seconds, detail::whole(before.rounds),
                   detail::whole(after.rounds)};
  if (std::min(ratio.old_rounds, ratio.new_rounds) < stats::some_values) {
    return detail::of_few_rounds(ratio, old, now);
  }
  ratio.low = ratio.high = ratio.value();
  detail::consider(detail::between_rounds(before, after), ratio);
  if (const auto runs = detail::between_runs(before, after)) detail::consider(*runs, ratio);
  return ratio;
}

/// A ratio among others, and what may be said of it.
struct compared {
  time_ratio ratio;
  double p = 1;  ///< adjusted for all that were compared
  analysis::verdict verdict = verdict::unclear;

  [[nodiscard]] bool changed() const {
    return verdict == verdict::faster || verdict == verdict::slower;
  }
};

namespace detail {

/// What may be said of a ratio with the adjusted p value `p`.
[[nodiscard]] inline verdict verdict_on(const time_ratio& ratio, double p, double margin) {
  constexpr double significant = 0.01;  // false alarms are worse than what stays unclear
  if (!ratio.p) return verdict::unclear;
  if (ratio.low >= 1 / (1 + margin) && ratio.high <= 1 + margin) return verdict::same;
  if (p >= significant) return verdict::unclear;
  return ratio.value() < 1 ? verdict::faster : verdict::slower;
}

}  // namespace detail

/// Gives its verdict to each of `compared`, which have what `judged` has. Intervals inside
/// [1 / (1 + margin), 1 + margin] are `same`, however sure a difference may be; else p below 1 %,
/// adjusted for as many tests by Holm's method, makes a ratio `faster` or `slower`.
template <class Judged>
void judge(std::vector<Judged>& compared, double margin) {
  std::vector<double> p;
  for (const Judged& item : compared) p.push_back(item.ratio.p.value_or(1));
  const std::vector<double> adjusted = stats::holm(p);
  for (std::size_t i = 0; i < compared.size(); ++i) {
    compared[i].p = adjusted[i];
    compared[i].verdict = detail::verdict_on(compared[i].ratio, adjusted[i], margin);
  }
}

}  // namespace layerbench::analysis
