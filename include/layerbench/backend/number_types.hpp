// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>

/// Numbers as they lie in memory, for loops of layerbench.
namespace layerbench {

/// The upper half of an f32.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  /// Rounds to nearest, ties to even; NaN is not kept apart, since no loop makes any.
  explicit bf16(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>((whole + 0x7FFFU + ((whole >> 16U) & 1U)) >> 16U);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }
};

using f16 = _Float16;

/// Sign, 4 bits of exponent, 3 of significand, without infinities: E4M3 of the Open Compute
/// Project's 8-bit formats.
struct f8_e4m3 {
  std::uint8_t bits;

  f8_e4m3() = default;
  /// Rounds to nearest, ties to even, saturating.
  explicit f8_e4m3(float value) {
    int magnitude = not_a_number;
    if (!std::isnan(value)) {
      const double rounded = std::abs(round_to(dtype::f8_e4m3, value));
      const int exponent = rounded == 0 ? least : std::max(std::ilogb(rounded), least);
      // The hidden bit counts the exponent up, which subnormal numbers go without.
      magnitude = (exponent - least) * 8 + static_cast<int>(std::ldexp(rounded, 3 - exponent));
    }
    bits = static_cast<std::uint8_t>(magnitude | (std::signbit(value) ? sign : 0));
  }
  explicit operator float() const {
    const int magnitude = bits & ~sign;
    if (magnitude == not_a_number) return std::numeric_limits<float>::quiet_NaN();
    const int exponent = std::max(magnitude / 8, 1) - 1 + least;
    const int eighths = magnitude - (exponent - least) * 8;
    const float value = std::ldexp(static_cast<float>(eighths), exponent - 3);
    return (bits & sign) != 0 ? -value : value;
  }

 private:
  static constexpr int least = traits(dtype::f8_e4m3).min_exponent;
  static constexpr int sign = 0x80;
  static constexpr int not_a_number = 0x7F;
};

/// Calls `visit(T{})` with the number that a data type has in memory. Throws `unsupported` where
/// there is none.
template <class Visit>
decltype(auto) with_number(dtype type, Visit&& visit) {
  switch (type) {
    case dtype::f32:
    case dtype::tf32: return visit(float{});
    case dtype::bf16: return visit(bf16{});
    case dtype::f16: return visit(f16{});
    default: throw unsupported(fmt::format("no loop for {}", name(type)));
  }
}

/// Throws `unsupported` where with_number has no number of the data type.
inline void require_number(dtype type) {
  with_number(type, [](auto /*tag*/) {});
}

/// As with_number, also for 8-bit types, with which only libraries compute. Such a number stands
/// for a real one by the scale and zero point of its operand.
template <class Visit>
decltype(auto) with_stored_number(dtype type, Visit&& visit) {
  if (type == dtype::s8) return visit(std::int8_t{});
  if (type == dtype::u8) return visit(std::uint8_t{});
  if (type == dtype::f8_e4m3) return visit(f8_e4m3{});
  return with_number(type, visit);
}

/// The number in memory for the value of an operand's element, of which `index` is the row-major
/// one. Integers saturate.
template <class T>
[[nodiscard]] T stored_as(const op::operand& of, std::size_t index, float value) {
  if constexpr (std::is_integral_v<T>) {
    const double scaled = std::nearbyint(value / of.scale_of(static_cast<std::int64_t>(index)));
    return static_cast<T>(std::clamp(scaled + static_cast<double>(of.zero_point),
                                     least_integer(of.type), traits(of.type).largest));
  }
  if constexpr (sizeof(T) == 1) value = static_cast<float>(value / of.scale);
  return static_cast<T>(value);
}
/// The inverse.
template <class T>
[[nodiscard]] float element_of(const op::operand& of, std::size_t index, T stored) {
  if constexpr (std::is_integral_v<T>) {
    const auto number = static_cast<double>(stored - of.zero_point);
    return static_cast<float>(number * of.scale_of(static_cast<std::int64_t>(index)));
  }
  const auto number = static_cast<float>(stored);
  return sizeof(T) == 1 ? static_cast<float>(number * of.scale) : number;
}

}  // namespace layerbench
