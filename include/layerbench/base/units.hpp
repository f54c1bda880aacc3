// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <layerbench/base/decimal.hpp>

namespace layerbench::units {

/// `value` with three significant digits and an SI prefix: si(1.23e9, "FLOP") is "1.23 GFLOP".
[[nodiscard]] inline std::string si(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 9> prefixes{"n", "u", "m", "", "k", "M", "G", "T", "P"};
  constexpr int unity = 3;
  if (value == 0 || !std::isfinite(value)) return shortest_decimal(value) + ' ' + std::string(unit);
  int step = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3));
  // 999.9996 rounds to 1000: it belongs to the next prefix.
  if (std::abs(value) / std::pow(1000.0, step) >= 999.5) ++step;
  step = std::clamp(step, -unity, static_cast<int>(prefixes.size()) - 1 - unity);
  const double scaled = value / std::pow(1000.0, step);
  const int digits = std::abs(scaled) >= 99.95 ? 0 : std::abs(scaled) >= 9.995 ? 1 : 2;
  const int place = step + unity;
  const std::string_view prefix = prefixes.at(static_cast<std::size_t>(place));
  return fixed_decimal(scaled, digits) + ' ' + std::string(prefix) + std::string(unit);
}

/// A duration for people: "850 us", "12.3 ms", "4.20 s", "3 min 20 s", "2 h 05 min".
[[nodiscard]] inline std::string duration(double seconds) {
  if (!(seconds >= 60) || !std::isfinite(seconds)) return si(seconds, "s");
  const auto two_digits = [](long number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  const long whole = std::lround(seconds);
  if (whole < 3600) return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + two_digits(whole % 3600 / 60) + " min";
}

}  // namespace layerbench::units
