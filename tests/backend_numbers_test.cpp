// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include <layerbench/backend/number_types.hpp>

#include "support/random_ops.hpp"

namespace layerbench {
namespace backend_numbers_test {

TEST(F8, IsWhatItsBitsSay) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const f8_e4m3 number = std::bit_cast<f8_e4m3>(static_cast<std::uint8_t>(bits));
    const auto value = static_cast<float>(number);
    const unsigned again = f8_e4m3(value).bits;
    EXPECT_EQ(std::isnan(value), (bits & 0x7FU) == 0x7F);
    if (std::isnan(value)) {
      EXPECT_EQ(again & 0x7FU, 0x7FU);
      continue;
    }
    EXPECT_EQ(again, bits) << value;
    EXPECT_EQ(value, static_cast<float>(round_to(dtype::f8_e4m3, value))) << bits;
    EXPECT_EQ(std::signbit(value), bits >= 128);
  }
  const auto stored = [](float value) { return static_cast<float>(f8_e4m3(value)); };
  EXPECT_EQ(stored(1.0F), 1.0F);
  EXPECT_EQ(stored(1000.0F), 448.0F);
  EXPECT_EQ(stored(-1000.0F), -448.0F);
  EXPECT_EQ(stored(std::ldexp(1.0F, -9)), std::ldexp(1.0F, -9)) << "the least";
  EXPECT_EQ(stored(std::ldexp(1.0F, -11)), 0.0F);
  testing::dice d(9);
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<float>(d.real(-500, 500) *
                                          std::ldexp(1.0, static_cast<int>(d.between(-16, 0))));
    EXPECT_EQ(stored(value), static_cast<float>(round_to(dtype::f8_e4m3, value))) << value;
  }
}

}  // namespace backend_numbers_test
}  // namespace layerbench
