// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/analysis/compare/verdict.hpp>
#include <layerbench/base/stats.hpp>

/// Ratios of times that were measured in pairs of runs: old and new side by side.
namespace layerbench::analysis {

/// The fewest pairs with a p. Two would need ratios that agree to a hundredth of the change.
inline constexpr std::size_t min_pairs = 3;

namespace detail {

/// The sum of `terms` in one run; nothing if the run did not time all of them.
[[nodiscard]] inline std::optional<double> seconds_in(std::size_t run,
                                                      std::span<const term> terms) {
  double seconds = 0;
  for (const auto& [weight, of] : terms) {
    const timing in_run = of->of_run(run);
    if (in_run.rounds.empty()) return std::nullopt;
    seconds += weight * in_run.seconds();
  }
  return seconds;
}

/// Logarithms of the old and new seconds of the pairs that have both, and all ratios.
struct pair_times {
  std::vector<double> old;
  std::vector<double> now;
  log_ratios ratios;

  /// Adds the next pair, whose sides may lack a time.
  void add(std::optional<double> before, std::optional<double> after) {
    ratios.emplace_back();
    if (!before || !after) return;
    old.push_back(std::log(*before));
    now.push_back(std::log(*after));
    ratios.back() = now.back() - old.back();
  }
};

/// The pairs in which both sides timed all of their terms, by the number of the run.
[[nodiscard]] inline pair_times pair_up(std::span<const term> old, std::span<const term> now) {
  const std::vector<std::size_t>& runs = old.front().of->runs;
  const std::set<std::size_t> numbers(runs.begin(), runs.end());
  pair_times found;
  for (const std::size_t run : numbers) {
    while (found.ratios.size() < run) found.ratios.emplace_back();
    found.add(seconds_in(run, old), seconds_in(run, now));
  }
  return found;
}

/// The geometric mean of a timing over its runs.
[[nodiscard]] inline double seconds_of_runs(const timing& of) {
  std::vector<double> logarithms;
  for (const std::size_t run : std::set<std::size_t>(of.runs.begin(), of.runs.end())) {
    const std::vector<term> terms{{1, &of}};
    if (const auto seconds = seconds_in(run, terms)) logarithms.push_back(std::log(*seconds));
  }
  return std::exp(stats::mean(logarithms));
}

}  // namespace detail

/// The standard deviation of the logarithms of the pairs' ratios that is assumed at least, for so
/// many pairs. Fewer than 5 may all be disturbed in the same way by chance: where half of the
/// processes take half as long again, 3 pairs are so in 3 % of comparisons, and alike within 1 %.
[[nodiscard]] inline double least_deviation(std::size_t pairs) {
  constexpr double of_few = 0.1;
  return pairs < stats::min_sample_size ? of_few : 0;
}

namespace detail {

/// The ratio of pairs, at least one of which has both times.
[[nodiscard]] inline time_ratio ratio_of(const pair_times& found) {
  const std::size_t n = found.old.size();
  time_ratio ratio{std::exp(stats::mean(found.old)), std::exp(stats::mean(found.now)), n, n};
  std::vector<double> ratios;
  for (const std::optional<double>& one : found.ratios) {
    if (one) ratios.push_back(*one);
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  if (n < min_pairs) {
    ratio.low = std::exp(least);
    ratio.high = std::exp(most);
    return ratio;
  }
  const double deviation = std::max(stats::stddev(ratios), least_deviation(n));
  const auto count = static_cast<double>(n);
  ratio.low = ratio.high = ratio.value();
  widen({deviation * deviation / count, count - 1}, ratio);
  return ratio;
}

}  // namespace detail

/// The ratio of two sums of terms (not empty), `now` by `old`, whose n-th runs are a pair. Machine
/// conditions that both runs of a pair share cancel in its ratio. Seconds are geometric means over
/// the pairs, so that their ratio is the geometric mean of the pairs' ratios. The 95 % interval is
/// Student's of the logarithms of these ratios, with `least_deviation`. With fewer than `min_pairs`
/// there is no p, and the interval spans the single pairs.
[[nodiscard]] inline compared compared_pairs(std::span<const term> old, std::span<const term> now) {
  detail::pair_times found = detail::pair_up(old, now);
  if (!found.old.empty()) {
    return {.ratio = detail::ratio_of(found), .pairs = std::move(found.ratios)};
  }
  return {detail::of_few_rounds({detail::vary(old).seconds, detail::vary(now).seconds}, old, now)};
}

}  // namespace layerbench::analysis
