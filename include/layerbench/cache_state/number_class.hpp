// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <layerbench/op/op.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::run {

/// The numbers that timed calls compute with, by the classes of IEEE 754.
enum class number_class : std::uint8_t { normal, zeros, denormal };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(number_class /*tag*/) {
  return {"normal", "zeros", "denormal"};
}

/// Test data of a class for timed calls; the usual one for operands that need certain values.
[[nodiscard]] inline test_data timed_data(const op::operand& operand, std::uint64_t seed,
                                          number_class numbers) {
  test_data data(operand, seed);
  if (numbers == number_class::normal || op::needs_values(operand)) return data;
  const double least_normal = std::ldexp(1.0, traits(operand.type).min_exponent);
  const double largest = numbers == number_class::zeros ? 0 : least_normal / 2;
  data.low = -largest;
  data.width = 2 * largest;
  return data;
}

}  // namespace layerbench::run
