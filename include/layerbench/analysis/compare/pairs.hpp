// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <layerbench/analysis/base/interval.hpp>
#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/base/timings.hpp>

/// Ratios of times that were measured in pairs of runs: old and new side by side.
namespace layerbench::analysis {

namespace detail {

/// Logarithms of the old and new seconds of each pair, and of their ratio.
struct pairs {
  std::vector<double> old;
  std::vector<double> now;
  std::vector<double> ratios;
};

/// The geometric mean of a timing over its runs.
[[nodiscard]] double seconds_of_runs(const timing& of);

}  // namespace detail

/// The fewest pairs with a p. Two would need ratios that agree to a hundredth of the change.
inline constexpr std::size_t min_pairs = 3;

/// The standard deviation of the logarithms of the pairs' ratios that is assumed at least, for so
/// many pairs. Fewer than 5 may all be disturbed in the same way by chance: where half of the
/// processes take half as long again, 3 pairs are so in 3 % of comparisons, and alike within 1 %.
[[nodiscard]] double least_deviation(std::size_t pairs);

/// The least change of one ratio that this number of pairs (at least `min_pairs`) finds, in
/// standard deviations of the logarithms of the pairs' ratios: its p is then `significance`.
[[nodiscard]] double least_found_change(std::size_t pairs);

/// The ratio of two sums of terms (not empty), `now` by `old`, whose n-th runs are a pair. Machine
/// conditions that both runs of a pair share cancel in its ratio. Seconds are geometric means over
/// the pairs, so that their ratio is the geometric mean of the pairs' ratios. The 95 % interval is
/// Student's of the logarithms of these ratios, with `least_deviation`. With fewer than `min_pairs`
/// there is no p, and the interval spans the single pairs.
[[nodiscard]] time_ratio ratio_of_pairs(std::span<const term> old, std::span<const term> now);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/pairs-inl.hpp>
#endif
