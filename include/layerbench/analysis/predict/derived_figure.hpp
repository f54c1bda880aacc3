// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/base/number_format.hpp>

namespace layerbench::analysis {

/// What follows from a predicted step, such as hours or a price, with its interval.
struct estimate {
  double value;
  double low;
  double high;
  int digits = format::most_digits;  ///< that texts show; see prediction::digits()

  [[nodiscard]] estimate times(double factor) const {
    return {value * factor, low * factor, high * factor, digits};
  }
  /// The sum of both, and of their bounds.
  [[nodiscard]] estimate plus(const estimate& other) const {
    return {value + other.value, low + other.low, high + other.high,
            std::min(digits, other.digits)};
  }
  [[nodiscard]] bool has_interval() const { return low < high; }
};

/// The time of a predicted step, in seconds.
[[nodiscard]] inline estimate seconds_of(const prediction& p) {
  return {p.step->seconds, p.step->low(), p.step->high(), p.digits()};
}

}  // namespace layerbench::analysis
