// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/timing.hpp>

/// Confidence intervals of sums of means whose terms were measured in the same rounds.
namespace layerbench::result {

/// A term of a sum over primitives.
struct term {
  double weight;
  const timing* of;
};

/// The rounds that all terms have, in their order.
[[nodiscard]] std::vector<round_id> common_rounds(std::span<const term> terms);

namespace detail {

/// The terms in their common rounds. Terms that count in the same rounds are added up beforehand,
/// because the sum of their means is the mean of their sums. A term that counts in none of the
/// common rounds is used in all of them.
class series {
 public:
  series(std::span<const term> terms, const std::vector<round_id>& rounds);

  /// The smallest number of rounds that count of any term.
  [[nodiscard]] std::size_t least() const { return least_; }

  /// The sum of means if round i was drawn `times[i]` times. A term of which no counting round was
  /// drawn has the mean of all its rounds.
  [[nodiscard]] double drawn_sum(const std::vector<double>& times) const;

 private:
  /// The mean of each kind; NaN if none of its rounds was drawn.
  [[nodiscard]] std::vector<double> means(const std::vector<double>& times) const;

  std::size_t kinds_ = 0;  ///< distinct sets of counting rounds
  std::size_t least_ = std::numeric_limits<std::size_t>::max();
  std::vector<double> counts_;     ///< by round and kind: 1 if the round counts, else 0
  std::vector<double> values_;     ///< by round and kind: the sum; 0 if the round does not count
  std::vector<double> all_means_;  ///< means over all counting rounds, by kind
};

/// The percentile to use instead of 2.5 %, so that the interval of `n` values is as wide as
/// Student's: expanded percentile intervals (Hesterberg, What Teachers Should Know About the
/// Bootstrap, 2015).
[[nodiscard]] double expanded_tail(std::size_t n);

}  // namespace detail

/// A 95 % interval of the weighted sum of means: percentiles of 2000 bootstrap sums (Efron and
/// Tibshirani, An Introduction to the Bootstrap, 13.3), expanded for few rounds. Each sum draws
/// whole rounds with replacement, the same for all terms, because a disturbance hits everything
/// measured in its round. The draws are the same in every call. Nothing with fewer than 5 rounds,
/// because the interval would be far too narrow.
[[nodiscard]] std::optional<stats::interval> bootstrap_interval(
    std::span<const term> terms, const std::vector<round_id>& rounds);

/// The least and the largest weighted sum of a single round; terms that do not count in a round
/// have their usual time there. Nothing without rounds.
[[nodiscard]] std::optional<stats::interval> range_of_rounds(std::span<const term> terms,
                                                             const std::vector<round_id>& rounds);

/// The least and the largest weighted sum of a single round, if more than half of the timings in
/// `rounds` were disturbed; nothing otherwise. Rounds that do not count are in it, too: where most
/// are disturbed, the marks do not tell how long the others would have taken.
[[nodiscard]] std::optional<stats::interval> range_of_disturbed(
    std::span<const term> terms, const std::vector<round_id>& rounds);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/bootstrap_interval-inl.hpp>
#endif
