// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/interval.hpp>
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

[[nodiscard]] varying_sum vary(std::span<const term> terms);

/// The variance of a ratio's logarithm, with its degrees of freedom.
struct variance {
  double value;
  double degrees_of_freedom;
};

/// Widens the interval of `ratio` and raises its p to the values that follow from the variance.
void widen(const variance& of, time_ratio& ratio);

/// A ratio without p, for sides with few rounds. Its interval spans the ratios of single rounds.
[[nodiscard]] time_ratio of_few_rounds(time_ratio ratio, std::span<const term> old,
                                       std::span<const term> now);

/// The rounds as an integer; rounding errors of the sum must not lose one.
[[nodiscard]] std::size_t whole_rounds(double rounds);

}  // namespace detail

/// The ratio of two sums of terms (not empty), `now` by `old`, with Student's 95 % interval of its
/// logarithm. The units that vary are whole rounds, because a disturbance hits everything measured
/// in its round. Runs differ by more than their rounds do, so with several runs on a side the wider
/// interval and the larger p of both kinds of variation count. With fewer than 5 rounds on a side
/// there is no p, and the interval spans the single rounds.
[[nodiscard]] time_ratio ratio_of(std::span<const term> old, std::span<const term> now);

/// A ratio among others, with its verdict.
struct compared {
  time_ratio ratio;
  double p = 1;  ///< adjusted for the number of ratios
  analysis::verdict verdict = verdict::unclear;

  [[nodiscard]] bool changed() const;
};

/// The p below which a ratio is faster or slower: a false alarm is worse than an unclear verdict.
inline constexpr double significance = 0.01;

namespace detail {

/// The verdict on a ratio with the adjusted p value `p`.
[[nodiscard]] verdict verdict_on(const time_ratio& ratio, double p, double margin);

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

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/ratio-inl.hpp>
#endif
