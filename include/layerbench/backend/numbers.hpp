// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/shape/dtype.hpp>

/// Numbers as they lie in memory, for loops of the suite's own.
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

}  // namespace layerbench
