// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/base/stats.hpp>

/// Number formatting for text and CSV.
namespace layerbench::format {

/// A number with as many digits as needed to read back the same value; empty for no number.
[[nodiscard]] inline std::string exact(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

/// The most and the least significant digits that a figure has. One digit would be off by up to a
/// half, so that figures contradict those that follow from them.
inline constexpr int most_digits = 4;
inline constexpr int least_digits = 2;

/// How many significant digits of a figure its interval supports: the last one is of the size of
/// half of the interval, or a tenth of it. `least_digits` without an interval.
[[nodiscard]] inline int known_digits(double value, double low, double high) {
  const double relative = (high - low) / 2 / value;
  if (!(relative > 0)) return least_digits;
  return static_cast<int>(
      std::clamp(1 - std::floor(std::log10(relative)), 1.0 * least_digits, 1.0 * most_digits));
}

[[nodiscard]] inline double magnitude(double value) {
  return value > 0 ? std::floor(std::log10(value)) : 0;
}

/// The value that a figure with that many digits shows. What follows from the figure is computed
/// from this value, so that texts do not contradict themselves.
[[nodiscard]] inline double rounded(double value, int digits) {
  if (digits >= most_digits) return value;
  const double unit = std::pow(10.0, magnitude(value) - digits + 1);
  return std::round(value / unit) * unit;
}

/// `digits` significant digits, never in exponential notation. Four digits keep all of a number
/// that is larger.
[[nodiscard]] inline std::string significant(double value, int digits) {
  value = rounded(value, digits);
  return fmt::format("{:.{}f}", value,
                     std::clamp(digits - 1 - static_cast<int>(magnitude(value)), 0, 9));
}

/// Four significant digits, never in exponential notation.
[[nodiscard]] inline std::string four_digits(double value) {
  return significant(value, most_digits);
}

/// A figure with that many digits: "~17" if it was rounded, since most of its timings were
/// disturbed. What follows from such a figure has as few digits, and the mark.
[[nodiscard]] inline std::string figure(double value, int digits) {
  return (digits < most_digits ? "~" : "") + significant(value, digits);
}
inline constexpr std::string_view mark_legend = "~: rounded, as most timings were disturbed\n";

[[nodiscard]] inline std::string rate(std::optional<double> images_per_second,
                                      int digits = most_digits) {
  return images_per_second ? figure(*images_per_second, digits) : "refused";
}

[[nodiscard]] inline std::string milliseconds(double seconds, int digits = most_digits) {
  return figure(seconds * 1e3, digits);
}

/// An interval of seconds, in milliseconds.
[[nodiscard]] inline std::string range(const std::optional<stats::interval>& of,
                                       int digits = most_digits) {
  if (!of) return "none";
  return fmt::format("{} to {}", significant(of->low * 1e3, digits),
                     significant(of->high * 1e3, digits));
}

/// The same in a sentence.
[[nodiscard]] inline std::string between(const stats::interval& of, int digits) {
  return fmt::format("between {} and {}", significant(of.low * 1e3, digits),
                     significant(of.high * 1e3, digits));
}

/// `share` in percent, as exactly as a ratio of figures with that many digits is known.
[[nodiscard]] inline double coarse_percent(double share, int digits) {
  const double unit = std::pow(10.0, 3 - digits);
  return unit * std::round(100 * share / unit) + 0.0;  // + 0.0: no -0
}

/// A share of a whole: "62.1 %", or "~60 %" of figures with two digits.
[[nodiscard]] inline std::string percent(double share, int digits = most_digits) {
  return digits < most_digits ? fmt::format("~{:.0f} %", coarse_percent(share, digits))
                              : fmt::format("{:.1f} %", 100 * share);
}

/// A difference relative to a whole: "+2.1 %", and from 1000 % on the ratio, "12x".
[[nodiscard]] inline std::string signed_percent(std::optional<double> share,
                                                int digits = most_digits) {
  if (!share) return "";
  if (*share >= 10) return fmt::format("{}{:.0f}x", digits < most_digits ? "~" : "", *share + 1);
  return digits < most_digits ? fmt::format("~{:+.0f} %", coarse_percent(*share, digits))
                              : fmt::format("{:+.1f} %", *share * 100);
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
