// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace layerbench {

/// Data types. `tf32` is f32 storage whose arithmetic uses 11 bits of the significand; it is never
/// called f32. Integers stand for real numbers by a scale and a zero point. `s4` and `u4`, which
/// come last, are types of weights: no op computes in them.
enum class dtype { f32, tf32, f16, bf16, f64, s8, f8_e4m3, u8, s4, u4 };

struct dtype_traits {
  std::string_view name;
  std::size_t bytes;     ///< storage of one element; of 4 bits: of two (storage_bytes)
  int significand_bits;  ///< with the hidden bit; 0 for integers
  int min_exponent;      ///< of the smallest normal number, 2^min_exponent
  double largest;        ///< largest finite value
};

inline constexpr std::array dtype_table{
    dtype_traits{"f32", 4, 24, -126, 3.4028234663852886e38},
    dtype_traits{"tf32", 4, 11, -126, 3.4011621342146535e38},
    dtype_traits{"f16", 2, 11, -14, 65504},
    dtype_traits{"bf16", 2, 8, -126, 3.3895313892515355e38},
    dtype_traits{"f64", 8, 53, -1022, 1.7976931348623157e308},
    dtype_traits{"s8", 1, 0, 0, 127},
    dtype_traits{"f8_e4m3", 1, 4, -6, 448},
    dtype_traits{"u8", 1, 0, 0, 255},
    dtype_traits{"s4", 1, 0, 0, 7},
    dtype_traits{"u4", 1, 0, 0, 15},
};

/// The names of the data types in which ops compute, in their order.
inline constexpr auto dtype_names = [] {
  std::array<std::string_view, static_cast<std::size_t>(dtype::s4)> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names.at(i) = dtype_table.at(i).name;
  return names;
}();

[[nodiscard]] constexpr const dtype_traits& traits(dtype type) {
  return dtype_table.at(static_cast<std::size_t>(type));
}
[[nodiscard]] constexpr std::string_view name(dtype type) { return traits(type).name; }

/// The data type called `text` in which ops compute, or nothing.
[[nodiscard]] constexpr std::optional<dtype> dtype_from(std::string_view text) {
  for (std::size_t i = 0; i < dtype_names.size(); ++i) {
    if (dtype_names.at(i) == text) return static_cast<dtype>(i);
  }
  return std::nullopt;
}

/// Whether two numbers share a byte, the first one in its lower half.
[[nodiscard]] constexpr bool is_4_bit(dtype type) { return type == dtype::s4 || type == dtype::u4; }
[[nodiscard]] constexpr bool is_integer(dtype type) {
  return type == dtype::s8 || type == dtype::u8 || is_4_bit(type);
}
/// The smallest number that an integer type stores.
[[nodiscard]] constexpr double least_integer(dtype type) {
  return type == dtype::s8 ? -128 : type == dtype::s4 ? -8 : 0;
}

/// Largest relative error of rounding a normal number to `type` (2^-p, p significand bits).
[[nodiscard]] inline double unit_roundoff(dtype type) {
  return std::ldexp(1.0, -traits(type).significand_bits);
}

/// `value` rounded to the nearest `type`, ties to even, saturating at the largest finite value. A
/// stored integer stands for (stored - `zero_point`) * `scale`.
[[nodiscard]] inline double round_to(dtype type, double value, double scale = 1,
                                     double zero_point = 0) {
  const dtype_traits& t = traits(type);
  if (std::isnan(value)) return value;
  if (is_integer(type)) {
    const double stored = std::nearbyint(value / scale) + zero_point;
    return (std::clamp(stored, least_integer(type), t.largest) - zero_point) * scale;
  }
  if (type == dtype::f64 || value == 0) return value;
  // The exponent bits of the double give the spacing of `type` around the value directly.
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52U & 0x7FFU);
  const int spacing = std::max(biased - 1023, t.min_exponent) - (t.significand_bits - 1);
  const auto power_of_two = [](int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52U);
  };
  const double rounded = std::nearbyint(value * power_of_two(-spacing)) * power_of_two(spacing);
  return std::clamp(rounded, -t.largest, t.largest);
}

}  // namespace layerbench
