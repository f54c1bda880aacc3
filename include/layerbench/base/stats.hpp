// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace layerbench::stats {

/// Quantile `q` in [0, 1] of ascending `sorted` (not empty), interpolated linearly between order
/// statistics (Hyndman and Fan's type 7, the default of NumPy and R).
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

/// Median of `values` (not empty).
[[nodiscard]] double median(std::vector<double> values);

/// sqrt(a * a + b * b). std::hypot would need glibc 2.35, which servers with GPUs may not have.
[[nodiscard]] inline double root_of_squares(double a, double b) { return std::sqrt(a * a + b * b); }

/// Arithmetic mean of `values` (not empty).
[[nodiscard]] double mean(const std::vector<double>& values);

/// Whether `found` of `all` values are few enough to be outliers: one, or a tenth of them.
[[nodiscard]] constexpr bool is_rare(std::ptrdiff_t found, std::size_t all) {
  constexpr std::ptrdiff_t rare = 10;
  return found <= std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(all) / rare);
}

/// Fewer values cannot show which of them are outliers.
inline constexpr std::size_t min_sample_size = 5;

/// The limit above which `values` (not empty) are outliers: 1.5 times their median. Infinite if so
/// many are above it that they are no outliers.
[[nodiscard]] double outlier_limit(const std::vector<double>& values);

/// The mean of `values` (not empty) without outliers above, since medians of layers do not add up
/// to the median of a step. Of few values it is the median, which one outlier does not change.
[[nodiscard]] double mean_without_outliers(std::vector<double> values);

/// Sample standard deviation (n - 1); 0 for fewer than two values.
[[nodiscard]] double stddev(const std::vector<double>& values);

struct interval {
  double low;
  double high;
};

/// How probable it is that Student's t with `freedom` > 0 degrees of freedom is further from 0 than
/// `t`, on either side (Abramowitz and Stegun, 26.5.27).
[[nodiscard]] double student_t_p_value(double t, double degrees_of_freedom);

/// How far from 0, on either side, `confidence` of Student's distribution reaches: half the width
/// of an interval, in standard errors.
[[nodiscard]] double student_t_quantile(double degrees_of_freedom, double confidence = 0.95);

/// Student's 95 % interval of the mean of `values` (not empty), within their range; below 5 values
/// that range.
[[nodiscard]] interval mean_interval(const std::vector<double>& values);

/// The p values of tests made together, adjusted for their number: if all tests below a level are
/// accepted, the probability of one or more false ones is at most that level, whatever the tests'
/// dependence (Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979).
[[nodiscard]] std::vector<double> holm(const std::vector<double>& p);

/// Distribution-free interval that covers the median with at least `confidence`: the order
/// statistics k and n+1-k with the largest k for which 1 - 2 P(Binomial(n, 1/2) < k) suffices
/// (David and Nagaraja, Order Statistics, 7.1). Nothing when n is too small for any such k:
/// below 6 samples no pair of them covers the median with 95 %.
[[nodiscard]] std::optional<interval> median_interval(const std::vector<double>& sorted,
                                                      double confidence = 0.95);

}  // namespace layerbench::stats

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/stats-inl.hpp>
#endif
