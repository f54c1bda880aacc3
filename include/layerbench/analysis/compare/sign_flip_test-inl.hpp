// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <layerbench/analysis/compare/sign_flip_test.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

/// Which pairs are exchanged: a bit for each.
class exchanges {
 public:
  /// All of up to 13 pairs, but for the last pair: to exchange all others has the same |t|. Of more
  /// pairs as many as let a p be half of `level`. The first exchange is none.
  exchanges(std::size_t pairs, double level) : bytes_((pairs + width - 1) / width) {
    constexpr std::size_t most_made = 13;
    constexpr std::size_t fewest = 4096;
    const std::size_t drawn =
        std::max(fewest, std::bit_ceil(static_cast<std::size_t>(std::ceil(2 / level))));
    size_ = pairs > most_made ? drawn : std::size_t{1} << (pairs > 0 ? pairs - 1 : 0);
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t byte = 0; byte < bytes_; ++byte) {
        const std::uint64_t bits = i == 0 || pairs <= most_made ? i >> (byte * width) : random();
        bits_.push_back(static_cast<std::uint8_t>(bits & (patterns - 1)));
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// The sums of the values after each exchange, which changes the sign of exchanged pairs.
  [[nodiscard]] std::vector<double> sums(const std::vector<double>& values) const {
    std::vector<double> all(size_);
    std::array<double, patterns> of_byte{};
    for (std::size_t byte = 0; byte < bytes_; ++byte) {
      const std::size_t begin = byte * width;
      const std::size_t end = std::min(values.size(), begin + width);
      of_byte[0] = 0;
      for (std::size_t i = begin; i < end; ++i) of_byte[0] += values[i];
      for (std::size_t bits = 1; bits < patterns; ++bits) {
        const std::size_t lowest = begin + static_cast<std::size_t>(std::countr_zero(bits));
        of_byte.at(bits) = of_byte.at(bits & (bits - 1)) - (lowest < end ? 2 * values[lowest] : 0);
      }
      for (std::size_t i = 0; i < size_; ++i) all[i] += of_byte.at(bits_[i * bytes_ + byte]);
    }
    return all;
  }

 private:
  static constexpr std::size_t width = 8;
  static constexpr std::size_t patterns = std::size_t{1} << width;

  std::size_t bytes_;
  std::size_t size_ = 0;
  std::vector<std::uint8_t> bits_;  // by exchange and byte
};

/// Student's t^2 of `count` values with that sum and sum of squares.
[[nodiscard]] inline double square_of_t(double sum, double squares, double count) {
  constexpr double none = 1e-24;  // of the squares: what rounding leaves of a sum
  if (sum * sum <= none * squares) return 0;
  const double explained = sum * sum / (count * squares);
  constexpr double whole = 1 - 1e-12;
  if (explained >= whole) return std::numeric_limits<double>::infinity();
  return (count - 1) * explained / (1 - explained);
}

}  // namespace detail

LAYERBENCH_INLINE sign_flip_test::sign_flip_test(std::span<const log_ratios* const> rows,
                                                 std::size_t pairs, double level) {
  const detail::exchanges all(pairs, level);
  largest_.resize(all.size());
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
    const std::vector<double> sums = all.sums(values);
    const auto square = [&](double sum) {
      return detail::square_of_t(sum, squares, static_cast<double>(count));
    };
    squares_.back() = square(sums.front());
    for (std::size_t i = 0; i < sums.size(); ++i)
      largest_[i] = std::max(largest_[i], square(sums[i]));
  }
  largest_.erase(largest_.begin());
  std::ranges::sort(largest_);
}

LAYERBENCH_INLINE std::vector<double> sign_flip_test::p() const {
  constexpr double equal = 1 - 1e-9;  // sums of other orders may be rounded otherwise
  std::vector<double> all;
  for (const double square : squares_) {
    const auto first = std::ranges::lower_bound(largest_, equal * square);
    all.push_back((1 + static_cast<double>(largest_.end() - first)) /
                  (1 + static_cast<double>(largest_.size())));
  }
  return all;
}

LAYERBENCH_INLINE double sign_flip_test::critical_t(double level) const {
  const auto allowed = static_cast<std::size_t>(level * (1 + static_cast<double>(largest_.size())));
  if (allowed == 0 || allowed > largest_.size()) return std::numeric_limits<double>::infinity();
  return std::sqrt(largest_[largest_.size() - allowed]);
}

}  // namespace layerbench::analysis
