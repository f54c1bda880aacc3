// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace layerbench::stats {

/// Quantile `q` in [0, 1] of ascending `sorted` (not empty), interpolated linearly between order
/// statistics (Hyndman and Fan's type 7, the default of NumPy and R).
[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// Median of `values` (not empty).
[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

/// Arithmetic mean of `values` (not empty).
[[nodiscard]] inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Whether so few of `all` values could be by chance: one, or a tenth of them.
[[nodiscard]] constexpr bool is_rare(std::ptrdiff_t found, std::size_t all) {
  constexpr std::ptrdiff_t rare = 10;
  return found <= std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(all) / rare);
}

/// Fewer values cannot show which of them are far off.
inline constexpr std::size_t some_values = 5;

/// More than this is far above the other `values` (not empty), and rare: more than half above their
/// median. Infinite where there is nothing rare.
[[nodiscard]] inline double far_limit(const std::vector<double>& values) {
  constexpr double far = 1.5;  // times the median
  const double limit = far * median(values);
  const auto found = std::ranges::count_if(values, [&](double each) { return each > limit; });
  return values.size() >= some_values && is_rare(found, values.size()) ? limit : HUGE_VAL;
}

/// The mean of `values` (not empty) without those far above the others, since medians of layers do
/// not add up to that of a step; of few the median, which one that is far off does not move.
[[nodiscard]] inline double usual(std::vector<double> values) {
  if (values.size() < some_values) return median(std::move(values));
  const double limit = far_limit(values);
  std::erase_if(values, [&](double each) { return each > limit; });
  return mean(values);
}

/// Sample standard deviation (n - 1); 0 for fewer than two values.
[[nodiscard]] inline double stddev(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

struct interval {
  double low;
  double high;
};

/// Distribution-free interval that covers the median with at least `confidence`: the order
/// statistics k and n+1-k with the largest k for which 1 - 2 P(Binomial(n, 1/2) < k) suffices
/// (David and Nagaraja, Order Statistics, 7.1). Nothing when n is too small for any such k:
/// below 6 samples no pair of them covers the median with 95 %.
[[nodiscard]] inline std::optional<interval> median_interval(const std::vector<double>& sorted,
                                                             double confidence = 0.95) {
  const auto n = static_cast<double>(sorted.size());
  const double tail = (1 - confidence) / 2;
  double cumulative = 0;
  std::size_t k = 0;
  while (2 * k < sorted.size()) {
    const auto i = static_cast<double>(k);
    cumulative += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) -
                           n * std::numbers::ln2);
    if (cumulative > tail) break;
    ++k;
  }
  if (k == 0) return std::nullopt;
  return interval{sorted[k - 1], sorted[sorted.size() - k]};
}

}  // namespace layerbench::stats
