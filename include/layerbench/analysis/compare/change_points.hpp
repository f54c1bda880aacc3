// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <layerbench/analysis/compare/timed_sum.hpp>
#include <layerbench/analysis/compare/verdict.hpp>

/// Lasting changes in a series of times.
namespace layerbench::analysis {

/// The fewest times between two changes, and before the first and after the last. So a disturbance
/// of a few runs in a row is rarely a change.
inline constexpr std::size_t min_level = 4;
/// The fewest times of a series in which a change can be found.
inline constexpr std::size_t min_history = 2 * min_level;

/// A lasting change. Old and new seconds are geometric means from the change before to this one,
/// and from this one to the next; their rounds are numbers of times.
struct change_point : compared {
  std::size_t first = 0;  ///< index of the first time after the change
};

/// The lasting changes in a series of times, oldest first. As in E-divisive (Matteson and James, A
/// Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, 2014), the most
/// likely change divides the series: that between two adjacent stretches, of which the first begins
/// with the series and the second may end before it, so that a time that was slow and is fast again
/// does not hide its own beginning. Both parts are divided in the same way. As in Hunter (Fleming
/// and others, Hunter: Using Change Point Detection to Hunt for Performance Regressions, 2023),
/// Student's t-test decides, in place of random permutations, and changes that are not significant
/// beside their neighbours are removed, as are those within `margin`. Here the likelihood ratio of
/// normal logarithms finds a change, in place of the distances between all times: simulations find
/// no difference.
///
/// Scatter between the times is the standard, and their own rounds must agree: the larger p counts.
/// p is adjusted for all pairs of stretches and for `tests`, the number of series that are
/// searched: if nothing changed, one search of all series in a hundred finds any change.
[[nodiscard]] std::vector<change_point> change_points(std::span<const timed_sum> times,
                                                      std::size_t tests, double margin);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/change_points-inl.hpp>
#endif
