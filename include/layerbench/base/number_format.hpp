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

/// Four significant digits, never in exponential notation.
[[nodiscard]] inline std::string four_digits(double value) {
  const double magnitude = value > 0 ? std::floor(std::log10(value)) : 0;
  return fmt::format("{:.{}f}", value, std::clamp(3 - static_cast<int>(magnitude), 0, 9));
}

[[nodiscard]] inline std::string rate(std::optional<double> images_per_second) {
  return images_per_second ? four_digits(*images_per_second) : "refused";
}

[[nodiscard]] inline std::string milliseconds(double seconds) { return four_digits(seconds * 1e3); }

[[nodiscard]] inline std::string range(double low, double high) {
  return fmt::format("{} to {}", milliseconds(low), milliseconds(high));
}

/// A share of a whole: "62.1 %".
[[nodiscard]] inline std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

[[nodiscard]] inline std::string signed_percent(std::optional<double> share) {
  return share ? fmt::format("{:+.1f} %", *share * 100) : "";
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
