// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/shape/dtype.hpp>

#include "support/random_ops.hpp"

namespace layerbench {
namespace shape_dtype_test {

using testing::dice;

/// A small floating-point type as its bits: what round_to must agree with.
struct format {
  dtype type;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;  ///< else the top exponent is an ordinary one, all ones alone being NaN
};

constexpr std::array formats{
    format{dtype::f16, 5, 10, 15, true}, format{dtype::tf32, 8, 10, 127, true},
    format{dtype::bf16, 8, 7, 127, true}, format{dtype::f8_e4m3, 4, 3, 7, false}};

/// All values from zero up to the largest finite one; position i has the bits i.
std::vector<double> values_of(const format& f) {
  const int top = (1 << f.exponent_bits) - 1;
  const int mantissas = 1 << f.mantissa_bits;
  std::vector<double> values;
  for (int exponent = 0; exponent <= top - (f.has_infinity ? 1 : 0); ++exponent) {
    for (int mantissa = 0; mantissa < mantissas; ++mantissa) {
      if (exponent == top && mantissa == mantissas - 1) continue;
      const int significand = exponent == 0 ? mantissa : mantissas + mantissa;
      values.push_back(std::ldexp(significand, std::max(exponent, 1) - f.bias - f.mantissa_bits));
    }
  }
  return values;
}

class small_floats : public ::testing::TestWithParam<format> {
 protected:
  const format& f = GetParam();
  const std::vector<double> values = values_of(f);

  [[nodiscard]] double round(double value) const { return round_to(f.type, value); }
};

TEST_P(small_floats, keep_what_they_can_represent) {
  for (const double value : values) {
    ASSERT_EQ(round(value), value);
    ASSERT_EQ(round(-value), -value);
  }
}

TEST_P(small_floats, round_to_the_nearest_and_ties_to_even) {
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = (values[i] + values[i + 1]) / 2;
    ASSERT_EQ(round(middle), values[i % 2 == 0 ? i : i + 1]) << middle;
    ASSERT_EQ(round(-middle), -values[i % 2 == 0 ? i : i + 1]) << middle;
    ASSERT_EQ(round(std::nextafter(middle, 0)), values[i]) << middle;
    ASSERT_EQ(round(std::nextafter(middle, 1e300)), values[i + 1]) << middle;
  }
}

TEST_P(small_floats, saturate_at_the_largest) {
  const double largest = values.back();
  EXPECT_EQ(largest, traits(f.type).largest);
  for (const double beyond : {1.01 * largest, 1e300, HUGE_VAL}) {
    EXPECT_EQ(round(beyond), largest);
    EXPECT_EQ(round(-beyond), -largest);
  }
}

TEST_P(small_floats, keep_nan_and_the_sign_of_zero) {
  EXPECT_TRUE(std::isnan(round(NAN)));
  EXPECT_FALSE(std::signbit(round(0.0)));
  EXPECT_TRUE(std::signbit(round(-0.0)));
}

TEST_P(small_floats, know_their_normal_range_and_precision) {
  const double least_normal = values.at(std::size_t{1} << static_cast<unsigned>(f.mantissa_bits));
  EXPECT_EQ(std::ldexp(1.0, traits(f.type).min_exponent), least_normal);
  dice d(1);
  for (int i = 0; i < 1000; ++i) {
    const double value = d.real(1, 2);
    EXPECT_LE(std::abs(round(value) - value), unit_roundoff(f.type) * value);
  }
}

INSTANTIATE_TEST_SUITE_P(dtype, small_floats, ::testing::ValuesIn(formats),
                         [](const auto& tested) { return std::string(name(tested.param.type)); });

double random_number(dice& d) {
  const auto exponent = static_cast<int>(d.between(-40, 20));
  return std::ldexp(d.real(-1, 1), exponent);
}

TEST(round_to, agrees_with_the_bit_trick_for_bf16) {
  dice d(2);
  for (int i = 0; i < 200000; ++i) {
    const auto value = static_cast<float>(random_number(d));
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16U & 1U)) & 0xFFFF0000U;
    ASSERT_EQ(round_to(dtype::bf16, value), std::bit_cast<float>(rounded)) << value;
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(round_to, agrees_with_the_compiler_for_f16) {
  __extension__ using half = _Float16;
  dice d(3);
  for (int i = 0; i < 200000; ++i) {
    const double value = random_number(d);
    const auto converted = static_cast<double>(static_cast<half>(value));
    ASSERT_EQ(round_to(dtype::f16, value), std::clamp(converted, -65504.0, 65504.0)) << value;
  }
}
#endif

TEST(round_to, agrees_with_the_compiler_for_f32) {
  dice d(4);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::ldexp(d.real(-1, 1), static_cast<int>(d.between(-155, 128)));
    ASSERT_EQ(round_to(dtype::f32, value), static_cast<double>(static_cast<float>(value))) << value;
  }
}

TEST(round_to, keeps_every_f64) {
  for (const double value : {0.1, 1e300, std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(round_to(dtype::f64, value), value);
  }
}

TEST(round_to, gives_integers_for_s8) {
  const std::vector<std::pair<double, double>> table{
      {0.4, 0},     {0.5, 0},     {1.5, 2},    {2.5, 2},     {-0.5, 0},      {-1.5, -2},
      {127.4, 127}, {127.6, 127}, {1000, 127}, {-128, -128}, {-128.6, -128}, {HUGE_VAL, 127}};
  for (const auto& [value, expected] : table) EXPECT_EQ(round_to(dtype::s8, value), expected);
  EXPECT_TRUE(std::isnan(round_to(dtype::s8, NAN)));
}

TEST(round_to, gives_multiples_of_the_scale_for_s8) {
  EXPECT_EQ(round_to(dtype::s8, 0.30, 0.25), 0.25);
  EXPECT_EQ(round_to(dtype::s8, 0.375, 0.25), 0.5);
  EXPECT_EQ(round_to(dtype::s8, 40, 0.25), 31.75);
  EXPECT_EQ(round_to(dtype::s8, -40, 0.25), -32);
  EXPECT_EQ(round_to(dtype::u8, -40, 0.25), 0);
  EXPECT_EQ(round_to(dtype::s4, -9, 1), -8);
  EXPECT_EQ(round_to(dtype::u4, 15.6, 1), 15);
  EXPECT_EQ(round_to(dtype::u8, 400, 0.25), 63.75);
  EXPECT_EQ(round_to(dtype::u8, 400, 0.25, 100), 38.75) << "(255 - 100) / 4";
  EXPECT_EQ(round_to(dtype::u8, -400, 0.25, 100), -25);
}

TEST(dtype, is_found_by_its_name) {
  for (std::size_t i = 0; i < dtype_names.size(); ++i) {
    const auto type = static_cast<dtype>(i);
    EXPECT_EQ(dtype_from(name(type)), type);
  }
  EXPECT_EQ(name(dtype::u4), "u4") << "a type of weights alone";
  for (const auto* unknown : {"", "F32", "f3", "f322", "int8", "s4", "u4"})
    EXPECT_FALSE(dtype_from(unknown));
}

TEST(dtype, has_its_size) {
  EXPECT_EQ(traits(dtype::f32).bytes, 4U);
  EXPECT_EQ(traits(dtype::tf32).bytes, 4U);
  EXPECT_EQ(traits(dtype::f16).bytes, 2U);
  EXPECT_EQ(traits(dtype::bf16).bytes, 2U);
  EXPECT_EQ(traits(dtype::f64).bytes, 8U);
  EXPECT_EQ(traits(dtype::s8).bytes, 1U);
  EXPECT_EQ(traits(dtype::f8_e4m3).bytes, 1U);
}

}  // namespace shape_dtype_test
}  // namespace layerbench
