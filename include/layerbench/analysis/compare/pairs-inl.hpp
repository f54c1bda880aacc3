// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <layerbench/analysis/compare/pairs.hpp>
#include <layerbench/analysis/compare/verdict.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

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

/// The pairs in which both sides timed all of their terms.
[[nodiscard]] inline pairs pair_up(std::span<const term> old, std::span<const term> now) {
  const std::vector<std::size_t>& runs = old.front().of->runs;
  pairs found;
  for (const std::size_t run : std::set<std::size_t>(runs.begin(), runs.end())) {
    const std::optional<double> before = seconds_in(run, old);
    const std::optional<double> after = seconds_in(run, now);
    if (!before || !after) continue;
    found.old.push_back(std::log(*before));
    found.now.push_back(std::log(*after));
    found.ratios.push_back(found.now.back() - found.old.back());
  }
  return found;
}

LAYERBENCH_INLINE double seconds_of_runs(const timing& of) {
  std::vector<double> logarithms;
  for (const std::size_t run : std::set<std::size_t>(of.runs.begin(), of.runs.end())) {
    const std::vector<term> terms{{1, &of}};
    if (const auto seconds = seconds_in(run, terms)) logarithms.push_back(std::log(*seconds));
  }
  return std::exp(stats::mean(logarithms));
}

}  // namespace detail

LAYERBENCH_INLINE double least_deviation(std::size_t pairs) {
  constexpr double of_few = 0.1;
  return pairs < stats::min_sample_size ? of_few : 0;
}

LAYERBENCH_INLINE double least_found_change(std::size_t pairs) {
  const auto n = static_cast<double>(pairs);
  return stats::student_t_quantile(n - 1, 1 - significance) / std::sqrt(n);
}

LAYERBENCH_INLINE time_ratio ratio_of_pairs(std::span<const term> old, std::span<const term> now) {
  const detail::pairs found = detail::pair_up(old, now);
  const std::size_t n = found.ratios.size();
  if (n == 0) {
    return detail::of_few_rounds({detail::vary(old).seconds, detail::vary(now).seconds}, old, now);
  }
  time_ratio ratio{std::exp(stats::mean(found.old)), std::exp(stats::mean(found.now)), n, n};
  const auto [least, most] = std::ranges::minmax(found.ratios);
  if (n < min_pairs) {
    ratio.low = std::exp(least);
    ratio.high = std::exp(most);
    return ratio;
  }
  const double deviation = std::max(stats::stddev(found.ratios), least_deviation(n));
  const auto count = static_cast<double>(n);
  ratio.low = ratio.high = ratio.value();
  detail::widen({deviation * deviation / count, count - 1}, ratio);
  return ratio;
}

}  // namespace layerbench::analysis
