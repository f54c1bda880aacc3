// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>

/// Decimal text of floating-point numbers without a formatting library, for headers that every
/// source file includes.
namespace layerbench {

/// `value` with `digits` digits after the point, as printf's "%.<digits>f" writes it.
[[nodiscard]] inline std::string fixed_decimal(double value, int digits) {
  std::array<char, 400> text{};  // the largest double has 309 digits before its point
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, digits);
  return {text.data(), end.ptr};
}

/// The fewest digits that identify `value`, as fmt's "{}" writes it: with an exponent below 1e-4
/// and from 1e16 on. Canonical keys contain this text, so it must never change.
[[nodiscard]] inline std::string shortest_decimal(double value) {
  constexpr double least_plain = 1e-4;
  constexpr double most_plain = 1e16;
  const double magnitude = std::abs(value);
  const bool plain = value == 0 || (magnitude >= least_plain && magnitude < most_plain);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {text.data(), end.ptr};
}

}  // namespace layerbench
