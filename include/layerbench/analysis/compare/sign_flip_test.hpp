// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// A test of pairs that assumes nothing of their noise.
namespace layerbench::analysis {

/// Logarithms of new time / old time by pair; nothing in a pair that lacks one of the times.
using log_ratios = std::vector<std::optional<double>>;

/// The fewest pairs with a useful sign-flip test: its p is at least 2 / 2^pairs.
inline constexpr std::size_t min_flipped_pairs = 10;

/// The sign-flip test of many rows at once. If nothing differs, old and new are names that a coin
/// gave to the two processes of each pair: with any of them exchanged, in all rows at once, the
/// ratios were as likely. So the largest |t| of all rows is compared with that after each exchange
/// (Westfall and Young, Resampling-Based Multiple Testing, 1993; max T). If nothing differs, the
/// probability of one or more p below a level is at most that level, whatever the noise, its drift
/// and what rows have in common, if the order in each pair was random. Up to 13 pairs all exchanges
/// are made, of more 4095 or more, by the level. They are the same in every call.
class sign_flip_test {
 public:
  /// Of the first `pairs` of each row. A row with fewer than `min_flipped_pairs` has p 1. `level`
  /// is the p below which a row counts as changed.
  sign_flip_test(std::span<const log_ratios* const> rows, std::size_t pairs, double level);

  /// The p of each row, adjusted for their number.
  [[nodiscard]] std::vector<double> p() const;

  /// The |t| above which the p of a row is at most `level`; infinite if none is.
  [[nodiscard]] double critical_t(double level) const;

 private:
  std::vector<double> squares_;  ///< t^2 of each row
  std::vector<double> largest_;  ///< the largest t^2 after each other exchange, ascending
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/sign_flip_test-inl.hpp>
#endif
