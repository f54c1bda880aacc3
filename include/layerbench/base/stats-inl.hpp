// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>
#include <numeric>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::stats {

LAYERBENCH_INLINE double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

LAYERBENCH_INLINE double median(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

LAYERBENCH_INLINE double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

LAYERBENCH_INLINE double outlier_limit(const std::vector<double>& values) {
  constexpr double far = 1.5;  // times the median
  const double limit = far * median(values);
  const auto found = std::ranges::count_if(values, [&](double value) { return value > limit; });
  return values.size() >= min_sample_size && is_rare(found, values.size()) ? limit : HUGE_VAL;
}

LAYERBENCH_INLINE double mean_without_outliers(std::vector<double> values) {
  if (values.size() < min_sample_size) return median(std::move(values));
  const double limit = outlier_limit(values);
  std::erase_if(values, [&](double value) { return value > limit; });
  return mean(values);
}

LAYERBENCH_INLINE double stddev(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

namespace detail {

/// The continued fraction of the incomplete beta function (NIST Digital Library of Mathematical
/// Functions, 8.17.22), by Lentz's method; converges fast where x < (a + 1) / (a + b + 2).
[[nodiscard]] inline double beta_fraction(double a, double b, double x) {
  constexpr int most = 1000;
  constexpr double precise = 1e-15;
  double above = 1;  // ratios of consecutive numerators, and of denominators
  double below = 1 / (1 - (a + b) * x / (a + 1));
  double value = below;
  const auto next = [&](double coefficient) {
    above = 1 + coefficient / above;
    below = 1 / (1 + coefficient * below);
    value *= above * below;
  };
  for (int m = 1; m <= most && (m == 1 || std::abs(above * below - 1) > precise); ++m) {
    next(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    next(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
  }
  return value;
}

}  // namespace detail

LAYERBENCH_INLINE double student_t_p_value(double t, double degrees_of_freedom) {
  const double square = t * t;
  if (square == 0) return 1;
  if (!std::isfinite(square)) return 0;
  const double a = degrees_of_freedom / 2;
  constexpr double b = 0.5;
  const double x = degrees_of_freedom / (degrees_of_freedom + square);
  const double rest = square / (degrees_of_freedom + square);
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * detail::beta_fraction(a, b, x) / a;
  return 1 - front * detail::beta_fraction(b, a, rest) / b;
}

LAYERBENCH_INLINE double student_t_quantile(double degrees_of_freedom, double confidence) {
  double low = 0;
  double high = 1;
  while (student_t_p_value(high, degrees_of_freedom) > 1 - confidence) high *= 2;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::midpoint(low, high);
    (student_t_p_value(middle, degrees_of_freedom) > 1 - confidence ? low : high) = middle;
  }
  return high;
}

LAYERBENCH_INLINE interval mean_interval(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  if (values.size() < min_sample_size) return {least, most};
  const auto n = static_cast<double>(values.size());
  const double half = student_t_quantile(n - 1) * stddev(values) / std::sqrt(n);
  const double centre = mean(values);
  return {std::max(least, centre - half), std::min(most, centre + half)};
}

LAYERBENCH_INLINE std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  auto left = static_cast<double>(p.size());
  for (const std::size_t i : order) {
    largest = std::max(largest, std::min(1.0, left * p[i]));
    adjusted[i] = largest;
    --left;
  }
  return adjusted;
}

LAYERBENCH_INLINE std::optional<interval> median_interval(const std::vector<double>& sorted,
                                                          double confidence) {
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
