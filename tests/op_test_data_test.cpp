// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/op/embedding.hpp>
#include <layerbench/op/test_data.hpp>

#include "support/random_ops.hpp"

namespace layerbench::run {
namespace op_test_data_test {

using ::testing::Contains;
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

// What a plan may rely on: every token has different experts, and the numbers of rows are those of
// the load, whatever the seed.
TEST(TestData, OfExpertsHasTheLoad) {
  testing::dice d(7);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto o = testing::random_op<op::routed_gemm>(d);
    SCOPED_TRACE(key(o));
    const op::routing routing = o.routing();
    const auto operands = o.operands(op::pass::fwd, dtype::f32);
    const auto experts = std::ranges::find(operands, true, &op::operand::is_index);
    const std::vector<float> drawn = random_values(*experts, seed);
    ASSERT_EQ(drawn.size(), static_cast<std::size_t>(o.tokens * o.top_k));
    std::map<float, std::int64_t> rows;
    for (std::int64_t token = 0; token < o.tokens; ++token) {
      const auto first = drawn.begin() + token * o.top_k;
      EXPECT_EQ(std::set<float>(first, first + o.top_k).size(), static_cast<std::size_t>(o.top_k));
      std::for_each(first, first + o.top_k, [&](float expert) { ++rows[expert]; });
    }
    EXPECT_EQ(std::ssize(rows), routing.active());
    EXPECT_GE(rows.begin()->first, 0);
    EXPECT_LT(rows.rbegin()->first, o.experts);
    const std::vector<std::int64_t> sizes = routing.group_sizes();
    for (const auto& [expert, count] : rows) {
      EXPECT_THAT(sizes, Contains(count));
      EXPECT_TRUE(count == 1 || o.load != op::expert_load::decode) << count;
    }
    if (o.load == op::expert_load::hot && o.tokens * o.top_k > 1) {
      EXPECT_EQ(rows[0], std::min(o.tokens * o.top_k / 2, o.tokens));
    }
  }
}

TEST(TestData, OfExpertsDiffersFromStepToStep) {
  const op::routed_gemm o{.tokens = 1, .experts = 128, .top_k = 8};
  const op::operand experts = o.operands(op::pass::fwd, dtype::f32).at(1);
  std::set<float> seen;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const std::vector<float> drawn = random_values(experts, seed);
    seen.insert(drawn.begin(), drawn.end());
  }
  EXPECT_GT(seen.size(), 64U) << "16 tokens have most of the experts";
}

}  // namespace op_test_data_test
}  // namespace layerbench::run
