// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>

namespace layerbench::format {

namespace detail {

[[nodiscard]] inline double magnitude(double value) {
  return value > 0 ? std::floor(std::log10(value)) : 0;
}

/// `share` in percent, as exactly as a ratio of figures with that many digits is known.
[[nodiscard]] inline double coarse_percent(double share, int digits) {
  const double unit = std::pow(10.0, 3 - digits);
  return unit * std::round(100 * share / unit) + 0.0;  // + 0.0: no -0
}

}  // namespace detail

LAYERBENCH_INLINE std::string exact(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

LAYERBENCH_INLINE int known_digits(double value, double low, double high) {
  const double relative = (high - low) / 2 / value;
  if (!(relative > 0)) return least_digits;
  return static_cast<int>(
      std::clamp(1 - std::floor(std::log10(relative)), 1.0 * least_digits, 1.0 * most_digits));
}

LAYERBENCH_INLINE double rounded(double value, int digits) {
  if (digits >= most_digits) return value;
  const double unit = std::pow(10.0, detail::magnitude(value) - digits + 1);
  return std::round(value / unit) * unit;
}

LAYERBENCH_INLINE std::string significant(double value, int digits) {
  value = rounded(value, digits);
  return fmt::format("{:.{}f}", value,
                     std::clamp(digits - 1 - static_cast<int>(detail::magnitude(value)), 0, 9));
}

LAYERBENCH_INLINE std::string four_digits(double value) { return significant(value, most_digits); }

LAYERBENCH_INLINE std::string range(const std::optional<stats::interval>& of, int digits) {
  if (!of) return "none";
  return fmt::format("{} to {}", significant(of->low * 1e3, digits),
                     significant(of->high * 1e3, digits));
}

LAYERBENCH_INLINE std::string between(const stats::interval& of, int digits) {
  return fmt::format("between {} and {}", significant(of.low * 1e3, digits),
                     significant(of.high * 1e3, digits));
}

LAYERBENCH_INLINE std::string percent(double share, int digits) {
  return digits < most_digits ? fmt::format("~{:.0f} %", detail::coarse_percent(share, digits))
                              : fmt::format("{:.1f} %", 100 * share);
}

LAYERBENCH_INLINE std::string signed_percent(std::optional<double> share, int digits) {
  if (!share) return "";
  if (*share >= 10) return fmt::format("{}{:.0f}x", mark(digits), *share + 1);
  return digits < most_digits ? fmt::format("~{:+.0f} %", detail::coarse_percent(*share, digits))
                              : fmt::format("{:+.1f} %", *share * 100);
}

LAYERBENCH_INLINE std::string change(double from, int from_digits, double to, int to_digits) {
  return signed_percent(rounded(to, to_digits) / rounded(from, from_digits) - 1,
                        std::min(from_digits, to_digits));
}

LAYERBENCH_INLINE std::string coverage(double coverage) {
  return fmt::format("{:.1f} %", std::floor(coverage * 1000) / 10);
}

LAYERBENCH_INLINE std::string left_out(double share) {
  if (share == 0) return "the import left out nodes, of unknown FLOPs";
  return fmt::format("the import left out nodes, at least {} of the FLOPs", percent(share));
}

}  // namespace layerbench::format
