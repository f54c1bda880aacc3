// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <layerbench/base/stats.hpp>

/// Number formatting for text and CSV.
namespace layerbench::format {

/// A number with as many digits as needed to read back the same value; empty for no number.
[[nodiscard]] std::string exact(std::optional<double> value);

/// The most and the least significant digits that a figure has. One digit would be off by up to a
/// half, so that figures contradict those that follow from them.
inline constexpr int most_digits = 4;
inline constexpr int least_digits = 2;

/// How many significant digits of a figure its interval supports: the last one is of the size of
/// half of the interval, or a tenth of it. `least_digits` without an interval.
[[nodiscard]] int known_digits(double value, double low, double high);

/// The value that a figure with that many digits shows. What follows from the figure is computed
/// from this value, so that texts do not contradict themselves.
[[nodiscard]] double rounded(double value, int digits);

/// `digits` significant digits, never in exponential notation. Four digits keep all of a number
/// that is larger.
[[nodiscard]] std::string significant(double value, int digits);

/// Four significant digits, never in exponential notation.
[[nodiscard]] std::string four_digits(double value);

/// What stands before a figure with that many digits: "~" if it was rounded.
[[nodiscard]] inline std::string_view mark(int digits) { return digits < most_digits ? "~" : ""; }
inline constexpr std::string_view mark_legend = "~: rounded, as most timings were disturbed\n";

/// A figure with that many digits: "~17" if it was rounded, since most of its timings were
/// disturbed. What follows from such a figure has as few digits, and the mark.
[[nodiscard]] inline std::string figure(double value, int digits) {
  return std::string(mark(digits)) + significant(value, digits);
}

[[nodiscard]] inline std::string rate(std::optional<double> images_per_second,
                                      int digits = most_digits) {
  return images_per_second ? figure(*images_per_second, digits) : "refused";
}

[[nodiscard]] inline std::string milliseconds(double seconds, int digits = most_digits) {
  return figure(seconds * 1e3, digits);
}

/// An interval of seconds, in milliseconds.
[[nodiscard]] std::string range(const std::optional<stats::interval>& of, int digits = most_digits);

/// The same in a sentence.
[[nodiscard]] std::string between(const stats::interval& of, int digits);

/// A share of a whole: "62.1 %", or "~60 %" of figures with two digits.
[[nodiscard]] std::string percent(double share, int digits = most_digits);

/// A difference relative to a whole: "+2.1 %", and from 1000 % on the ratio, "12x".
[[nodiscard]] std::string signed_percent(std::optional<double> share, int digits = most_digits);

/// How a time differs from another one, which has `from_digits`: of the rounded times, as exactly
/// as both are known.
[[nodiscard]] std::string change(double from, int from_digits, double to, int to_digits);

/// A coverage in percent, rounded down so that incomplete coverage never reads as 100 %.
[[nodiscard]] std::string coverage(double coverage);

/// What a partial model lacks: `share` of the FLOPs, or more, since not all sizes may be known.
[[nodiscard]] std::string left_out(double share);

}  // namespace layerbench::format

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/number_format-inl.hpp>
#endif
