// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <layerbench/base/decimal.hpp>

namespace layerbench {
namespace base_decimal_test {

/// Numbers of all magnitudes, and those around the limits of plain notation.
std::vector<double> numbers() {
  std::vector<double> all{0, -0.0, 1e-5, 0.9, 1e20, 1e22, 0.1, 1.0 / 3, 1e-38, 123456, HUGE_VAL};
  for (const double limit : {1e-4, 1e-5, 1.0, 1e5, 1e15, 1e16, 1e17}) {
    all.insert(all.end(), {std::nextafter(limit, 0.0), limit, std::nextafter(limit, HUGE_VAL)});
  }
  std::mt19937_64 random(1);
  constexpr int drawn = 20000;
  for (int i = 0; i < drawn; ++i) {
    const auto any = std::bit_cast<double>(random());
    if (std::isfinite(any)) all.push_back(any);
    all.push_back(std::ldexp(static_cast<double>(random() >> 11U), static_cast<int>(i % 120) - 80));
  }
  return all;
}

TEST(ShortestDecimal, IsWhatFmtWrites) {
  for (const double number : numbers()) {
    ASSERT_EQ(shortest_decimal(number), fmt::format("{}", number));
    ASSERT_EQ(shortest_decimal(-number), fmt::format("{}", -number));
  }
}

TEST(FixedDecimal, IsWhatFmtWrites) {
  for (const double number : numbers()) {
    for (const int digits : {0, 1, 2}) {
      ASSERT_EQ(fixed_decimal(number, digits), fmt::format("{:.{}f}", number, digits));
    }
  }
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(fixed_decimal(largest, 2), fmt::format("{:.2f}", largest));
}

}  // namespace base_decimal_test
}  // namespace layerbench
