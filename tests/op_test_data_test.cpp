// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/op/embedding.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {
namespace op_test_data_test {

using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Lt;

std::vector<float> indices(std::int64_t n, std::int64_t rows) {
  const op::embedding table{.n = n, .rows = rows, .columns = 1};
  return random_values(table.operands(op::pass::fwd, dtype::f32).front(), 1);
}

TEST(TestData, OfIndicesIsAsFrequentAsWordsOfThatRank) {
  constexpr std::int64_t rows = 10000;
  constexpr int n = 100000;
  const std::vector<float> drawn = indices(n, rows);
  EXPECT_THAT(drawn, Each(Ge(0.0F)));
  EXPECT_THAT(drawn, Each(Lt(static_cast<float>(rows))));
  // Of Zipf's and Mandelbrot's law: the share of the words up to a rank.
  const double b = static_cast<double>(rows) / ((1 << index_octaves(rows)) - 1);
  EXPECT_GE(b, 2.7);
  EXPECT_LE(b, 5.4);
  for (const double rank : {1.0, 10.0, 100.0, 1000.0, 5000.0}) {
    const auto below = std::ranges::count_if(drawn, [&](float value) { return value < rank; });
    const double expected = std::log1p(rank / b) / std::log1p(rows / b);
    EXPECT_NEAR(static_cast<double>(below) / n, expected, 0.01) << rank;
  }
}

TEST(TestData, OfIndicesOfFewRowsIsUniform) {
  std::map<float, int> counts;
  for (const float value : indices(3000, 3)) ++counts[std::floor(value)];
  for (const auto& [row, count] : counts) EXPECT_NEAR(count, 1000, 120) << row;
  EXPECT_THAT(indices(100, 1), Each(Le(1.0F)));
}

}  // namespace op_test_data_test
}  // namespace layerbench::run
