// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::analysis {

/// What follows from a predicted step, such as hours or a price, with its interval.
struct estimate {
  double value;
  double low;
  double high;

  [[nodiscard]] estimate times(double factor) const {
    return {value * factor, low * factor, high * factor};
  }
  /// The sum of both, and of their bounds.
  [[nodiscard]] estimate plus(const estimate& other) const {
    return {value + other.value, low + other.low, high + other.high};
  }
};

/// The time of a predicted step, in seconds.
[[nodiscard]] inline estimate seconds_of(const step_time& step) {
  return {step.seconds, step.low(), step.high()};
}

[[nodiscard]] inline json::value to_json(const estimate& of) {
  return {{"value", of.value}, {"low", of.low}, {"high", of.high}};
}

/// The value, and its interval in brackets.
[[nodiscard]] inline std::string with_interval(const estimate& of) {
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", of.value, of.low, of.high);
}

}  // namespace layerbench::analysis
