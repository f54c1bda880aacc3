// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

/// Number formatting for text and CSV.
namespace layerbench::format {

/// A number with as many digits as needed to read back the same value; empty for no number.
[[nodiscard]] inline std::string exact(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

/// The most significant digits that a figure has.
inline constexpr int most_digits = 4;

/// How many significant digits of a figure its interval supports: the last one is of the size of
/// half of the interval, or a tenth of it. From 1 to `most_digits`.
[[nodiscard]] inline int known_digits(double value, double low, double high) {
  const double relative = (high - low) / 2 / value;
  if (!(relative > 0)) return most_digits;
  return static_cast<int>(std::clamp(1 - std::floor(std::log10(relative)), 1.0, 1.0 * most_digits));
}

/// `digits` significant digits, never in exponential notation. Four digits keep all of a number
/// that is larger.
[[nodiscard]] inline std::string significant(double value, int digits) {
  const double magnitude = value > 0 ? std::floor(std::log10(value)) : 0;
  if (digits < most_digits) {
    const double unit = std::pow(10.0, magnitude - digits + 1);
    value = std::round(value / unit) * unit;
  }
  return fmt::format("{:.{}f}", value, std::clamp(digits - 1 - static_cast<int>(magnitude), 0, 9));
}

/// Four significant digits, never in exponential notation.
[[nodiscard]] inline std::string four_digits(double value) {
  return significant(value, most_digits);
}

[[nodiscard]] inline std::string rate(std::optional<double> images_per_second,
                                      int digits = most_digits) {
  return images_per_second ? significant(*images_per_second, digits) : "refused";
}

[[nodiscard]] inline std::string milliseconds(double seconds, int digits = most_digits) {
  return significant(seconds * 1e3, digits);
}

[[nodiscard]] inline std::string range(double low, double high, int digits = most_digits) {
  return fmt::format("{} to {}", milliseconds(low, digits), milliseconds(high, digits));
}

/// A share of a whole: "62.1 %".
[[nodiscard]] inline std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// A difference relative to a whole: "+2.1 %", and from 1000 % on the ratio, "12x".
[[nodiscard]] inline std::string signed_percent(std::optional<double> share) {
  if (!share) return "";
  return *share < 10 ? fmt::format("{:+.1f} %", *share * 100) : fmt::format("{:.0f}x", *share + 1);
}

/// A coverage in percent, rounded down so that incomplete coverage never reads as 100 %.
[[nodiscard]] inline std::string coverage(double coverage) {
  return fmt::format("{:.1f} %", std::floor(coverage * 1000) / 10);
}

/// What a partial model lacks: `share` of the FLOPs, or more, since not all sizes may be known.
[[nodiscard]] inline std::string left_out(double share) {
  return fmt::format("the import left out nodes, at least {} of the FLOPs", percent(share));
}

}  // namespace layerbench::format
