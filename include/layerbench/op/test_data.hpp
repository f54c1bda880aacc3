// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::run {

/// Random bits, the same on every machine (splitmix64, Steele, Lea and Flood 2014): number `i`
/// depends on the seed and `i` alone.
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// The seed of an operand of an op. Operands have different seeds, so that they hold different
/// data.
[[nodiscard]] constexpr std::uint64_t operand_seed(std::uint64_t seed, std::size_t operand) {
  return seed + operand * 0x5851F42D4C957F2DU;
}

/// The number of octaves of an index in a range of `width`, see index_quantile().
[[nodiscard]] constexpr int index_octaves(double width) {
  constexpr double least = 2.7;
  int octaves = 0;
  while (least * static_cast<double>((std::int64_t{2} << octaves) - 1) <= width) ++octaves;
  return octaves;
}

/// An index at the quantile `unit` in [0, 1) of its distribution, as a part of its range. Tables
/// list words by their frequency, which is 1 / (rank + b) with b = 2.7, or up to twice that
/// (Piantadosi, Zipf's Word Frequency Law in Natural Language: A Critical Review and Future
/// Directions, 2014): all octaves of rank + b are equally frequent. Within an octave the
/// distribution is uniform, which all machines compute alike.
[[nodiscard]] constexpr double index_quantile(double unit, int octaves) {
  const double octave = unit * octaves;
  const auto whole = static_cast<int>(octave);
  const auto power = static_cast<double>(std::int64_t{1} << whole);
  const double all = static_cast<double>((std::int64_t{1} << octaves) - 1);
  return (power * (1 + (octave - whole)) - 1) / all;
}

/// Test data of an operand, drawn element by element: uniformly distributed in its range, of an
/// index by index_quantile(), of routed tokens by their load; rounded to its type or to whole
/// numbers. The same on every machine
/// and for every backend: element i, in row-major order, depends only on the seed and i.
struct test_data {
  dtype type = dtype::f32;
  double low = 0;
  double width = 0;  ///< of the range
  double scale = 1;  ///< of integers, times their `multiple`
  double zero_point = 0;
  std::int64_t channels = 0;          ///< that have their own scales; mostly none
  std::int64_t channel_elements = 1;  ///< neighbours in one channel
  bool integral = false;
  int octaves = 0;  ///< of an index; else 0
  std::uint64_t seed = 0;
  std::size_t count = 0;
  std::optional<op::routing> routed = {};
  std::int64_t first = 0, stride = 0;  ///< see op::routing::expert()

  test_data() = default;
  test_data(const op::operand& operand, std::uint64_t chosen)
      : type(operand.type),
        low(operand.low),
        width(operand.high - operand.low),
        scale(operand.scale * static_cast<double>(operand.multiple)),
        zero_point(static_cast<double>(operand.zero_point)),
        channels(operand.channel_axis ? operand.extents[*operand.channel_axis] : 0),
        channel_elements(operand.channel_elements()),
        integral(operand.integral),
        octaves(operand.is_index ? index_octaves(operand.high - operand.low) : 0),
        seed(chosen),
        count(static_cast<std::size_t>(elements(operand.extents))),
        routed(operand.routed) {
    if (!routed) return;
    const auto experts = static_cast<std::uint64_t>(routed->even_experts());
    first = static_cast<std::int64_t>(random_bits(seed, 0) % experts);
    stride = static_cast<std::int64_t>(random_bits(seed, 1) % experts);
    while (std::gcd(stride, routed->even_experts()) != 1) ++stride;
  }

  [[nodiscard]] std::size_t size() const { return count; }
  /// A kernel computes the same, without zero points and channel scales
  /// (backend/kernels/gpu/verification_kernel_source.hpp), nor for routed tokens.
  [[nodiscard]] float operator[](std::size_t i) const {
    if (routed) {
      return static_cast<float>(routed->expert(static_cast<std::int64_t>(i), first, stride));
    }
    double unit = static_cast<double>(random_bits(seed, i) >> 11U) * 0x1p-53;
    if (octaves > 0) unit = index_quantile(unit, octaves);
    const double number = low + width * unit;
    if (integral) return static_cast<float>(std::nearbyint(number));
    const auto index = static_cast<std::int64_t>(i);
    const double step =
        channels == 0 ? scale : op::channel_scale(scale, index / channel_elements % channels);
    return static_cast<float>(round_to(type, number, step, zero_point));
  }
};

/// All elements of test data, row-major.
[[nodiscard]] inline std::vector<float> random_values(const test_data& data) {
  std::vector<float> values(data.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = data[i];
  return values;
}
[[nodiscard]] inline std::vector<float> random_values(const op::operand& operand,
                                                      std::uint64_t seed) {
  return random_values(test_data(operand, seed));
}

}  // namespace layerbench::run
