// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/shape/json.hpp>

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

[[nodiscard]] inline json::value to_json(const estimate& of) {
  const auto bound = [&](double value) {
    return of.has_interval() ? json::value(value) : json::value(nullptr);
  };
  return {{"value", of.value}, {"low", bound(of.low)}, {"high", bound(of.high)}};
}

/// The value, and its interval in brackets.
[[nodiscard]] inline std::string with_interval(const estimate& of) {
  if (of.digits == format::most_digits) {
    return fmt::format("{:.4g} ({:.4g} to {:.4g})", of.value, of.low, of.high);
  }
  return format::figure(of.value, of.digits) +
         (of.has_interval() ? fmt::format(" ({} to {})", format::significant(of.low, of.digits),
                                          format::significant(of.high, of.digits))
                            : "");
}

}  // namespace layerbench::analysis
