// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <layerbench/analysis/base/timings.hpp>

/// Ratios of times and their intervals.
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
[[nodiscard]] inline std::size_t whole_rounds(double rounds) {
  return static_cast<std::size_t>(rounds + 1e-6);
}

}  // namespace detail

/// The ratio of two sums of terms (not empty), `now` by `old`, with Student's 95 % interval of its
/// logarithm. The units that vary are whole rounds, because a disturbance hits everything measured
/// in its round. Runs differ by more than their rounds do, so with several runs on a side the wider
/// interval and the larger p of both kinds of variation count. With fewer than 5 rounds on a side
/// there is no p, and the interval spans the single rounds.
[[nodiscard]] time_ratio ratio_of(std::span<const term> old, std::span<const term> now);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/ratio-inl.hpp>
#endif
