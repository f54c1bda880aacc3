// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/base/timings.hpp>

/// The time of a layer or a step in one file or on one node, among others that it is compared with.
namespace layerbench::analysis {

/// A sum of timings from the same rounds.
struct timed_sum {
  double seconds = 0;
  double rounds = 0;    ///< that count; over several layers weighted by their times
  double variance = 0;  ///< of the logarithm of `seconds`, from the differences between rounds

  timed_sum() = default;
  explicit timed_sum(std::span<const term> terms);

  [[nodiscard]] bool has_enough_rounds() const;
};

namespace detail {

/// Adds up the variances of independent sums, with Welch's degrees of freedom.
class rounds_variance {
 public:
  /// Adds the variance of `of`, times `weight`. Sums with too few rounds are left out.
  void add(const timed_sum& of, double weight);

  /// Nothing if no sum has enough rounds.
  [[nodiscard]] std::optional<variance> total() const;

 private:
  double value_ = 0;
  double by_freedom_ = 0;
  double freedom_ = 0;
};

}  // namespace detail

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/timed_sum-inl.hpp>
#endif
