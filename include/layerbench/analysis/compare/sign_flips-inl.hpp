// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <layerbench/analysis/compare/sign_flips.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

/// Signs by exchange and pair; the first exchange is none. A second half with all signs reversed
/// would have the same |t|, so the last pair keeps its sign where all are made.
[[nodiscard]] inline std::vector<std::vector<double>> exchanges(std::size_t pairs) {
  constexpr std::size_t most_made = 13;
  constexpr std::size_t drawn = 4096;
  std::mt19937_64 random(1);
  const std::size_t number =
      pairs > most_made ? drawn : std::size_t{1} << (pairs > 0 ? pairs - 1 : 0);
  std::vector<std::vector<double>> all(number, std::vector<double>(pairs, 1));
  for (std::size_t i = 1; i < number; ++i) {
    std::uint64_t bits = i;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      constexpr std::size_t width = 64;
      if (pairs > most_made && pair % width == 0) bits = random();
      if (((bits >> (pair % width)) & 1U) != 0) all[i][pair] = -1;
    }
  }
  return all;
}

/// Student's t^2 of `count` values with that sum and sum of squares.
[[nodiscard]] inline double square_of_t(double sum, double squares, double count) {
  if (sum == 0) return 0;
  const double explained = sum * sum / (count * squares);
  constexpr double whole = 1 - 1e-12;
  if (explained >= whole) return std::numeric_limits<double>::infinity();
  return (count - 1) * explained / (1 - explained);
}

}  // namespace detail

LAYERBENCH_INLINE sign_flips::sign_flips(std::span<const log_ratios* const> rows,
                                         std::size_t pairs) {
  const std::vector<std::vector<double>> exchanges = detail::exchanges(pairs);
  largest_.resize(exchanges.size());
  for (const log_ratios* row : rows) {
    std::vector<double> values(pairs);  // 0: none
    double squares = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < std::min(pairs, row->size()); ++i) {
      if (!row->at(i)) continue;
      values[i] = *row->at(i);
      squares += values[i] * values[i];
      ++count;
    }
    squares_.push_back(0);
    if (count < min_flipped_pairs) continue;
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      double sum = 0;
      for (std::size_t pair = 0; pair < pairs; ++pair) sum += exchanges[i][pair] * values[pair];
      const double square = detail::square_of_t(sum, squares, static_cast<double>(count));
      if (i == 0) squares_.back() = square;
      largest_[i] = std::max(largest_[i], square);
    }
  }
  largest_.erase(largest_.begin());
  std::ranges::sort(largest_);
}

LAYERBENCH_INLINE std::vector<double> sign_flips::p() const {
  constexpr double equal = 1 - 1e-9;  // sums of other orders may be rounded otherwise
  std::vector<double> all;
  for (const double square : squares_) {
    const auto first = std::ranges::lower_bound(largest_, equal * square);
    all.push_back((1 + static_cast<double>(largest_.end() - first)) /
                  (1 + static_cast<double>(largest_.size())));
  }
  return all;
}

LAYERBENCH_INLINE double sign_flips::critical_t(double level) const {
  const auto allowed = static_cast<std::size_t>(level * (1 + static_cast<double>(largest_.size())));
  if (allowed == 0 || allowed > largest_.size()) return std::numeric_limits<double>::infinity();
  return std::sqrt(largest_[largest_.size() - allowed]);
}

}  // namespace layerbench::analysis
