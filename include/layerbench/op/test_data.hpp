// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::run {

/// Random bits, the same on every machine (splitmix64, Steele, Lea and Flood 2014).
class random_bits {
 public:
  explicit random_bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

/// The seed of an operand of an op. Operands have different seeds, so that they hold different
/// data.
[[nodiscard]] constexpr std::uint64_t operand_seed(std::uint64_t seed, std::size_t operand) {
  return seed + operand * 0x5851F42D4C957F2DU;
}

/// Test data of an operand: uniformly distributed in its range, rounded to its type or to whole
/// numbers. The same on every machine and for every backend: element i depends only on `seed` and
/// i.
[[nodiscard]] inline std::vector<float> random_values(const op::operand& operand,
                                                      std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(elements(operand.extents)));
  random_bits bits(seed);
  for (float& value : values) {
    const double unit = static_cast<double>(bits() >> 11U) * 0x1p-53;
    const double number = operand.low + (operand.high - operand.low) * unit;
    value = static_cast<float>(operand.integral ? std::nearbyint(number)
                                                : round_to(operand.type, number, operand.scale));
  }
  return values;
}

}  // namespace layerbench::run
