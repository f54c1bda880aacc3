// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/roofline.hpp>

namespace layerbench::analysis {
namespace analysis_roofline_test {

using result::operand_traffic;

/// A cache of 1 MB and memory a tenth as fast; 100 GFLOP/s; no call below 1 us.
peaks device() {
  return {"onednn",
          "f32",
          1,
          100e9,
          1e-6,
          {{"l2", 1e6, 100e9, 50e9, 80e9},
           {"memory", std::numeric_limits<double>::infinity(), 10e9, 5e9, 8e9}}};
}

constexpr bool written = true;
constexpr bool read = false;

TEST(Roofs, OfComputeAreFlopsAtThePeak) {
  const std::vector<operand_traffic> traffic{{1000, 0, read}};
  const roofs of = roofs_of(2e9, traffic, device());
  EXPECT_DOUBLE_EQ(of.compute, 0.02);
  EXPECT_DOUBLE_EQ(of.memory, 1000 / 100e9);
  EXPECT_DOUBLE_EQ(of.seconds(), 0.02);
  EXPECT_EQ(of.bound(), "compute");
}

TEST(Roofs, OfMemoryAreBytesAtTheBandwidthOfTheirDirection) {
  const auto memory = [](const std::vector<operand_traffic>& traffic) {
    return roofs_of(0, traffic, device()).memory;
  };
  constexpr std::int64_t far = 1 << 30;
  EXPECT_DOUBLE_EQ(memory({{1000000, far, read}}), 1e6 / 10e9);
  EXPECT_DOUBLE_EQ(memory({{1000000, far, written}}), 1e6 / 5e9);
  EXPECT_DOUBLE_EQ(memory({{1000000, far, read}, {1000000, far, written}}), 2e6 / 8e9);
  EXPECT_DOUBLE_EQ(memory({{1000000, far, read}, {2000000, far, read}, {1000000, far, written}}),
                   2e6 / 8e9 + 2e6 / 10e9);
  EXPECT_DOUBLE_EQ(memory({{1000000, far, read}, {3000000, far, written}}), 2e6 / 8e9 + 2e6 / 5e9);
}

TEST(Roofs, FindAnOperandInTheCacheOfItsLastUse) {
  const auto level = [](std::int64_t bytes, std::int64_t distance) {
    return roofs_of(0, std::vector<operand_traffic>{{bytes, distance, read}}, device()).level;
  };
  EXPECT_EQ(level(1000000, 0), "l2");
  EXPECT_EQ(level(1000001, 0), "memory");
  EXPECT_EQ(level(400000, 600000), "l2");
  EXPECT_EQ(level(400000, 600001), "memory");
}

TEST(Roofs, AddUpTheLevelsAndNameTheLongest) {
  const std::vector<operand_traffic> traffic{{900000, 0, read}, {300000, 1 << 30, read}};
  const roofs of = roofs_of(1e3, traffic, device());
  EXPECT_DOUBLE_EQ(of.memory, 9e5 / 100e9 + 3e5 / 10e9);
  EXPECT_EQ(of.bound(), "memory");
  const std::vector<operand_traffic> nearer{{900000, 0, read}, {30000, 1 << 30, read}};
  EXPECT_EQ(roofs_of(1e3, nearer, device()).bound(), "memory:l2");
}

TEST(Roofs, OfCallsAreTheCallOverhead) {
  const roofs of = roofs_of(50e3, std::vector<operand_traffic>{{80000, 0, read}}, device());
  EXPECT_DOUBLE_EQ(of.compute, 0.5e-6);
  EXPECT_DOUBLE_EQ(of.memory, 0.8e-6);
  EXPECT_DOUBLE_EQ(of.seconds(), 1e-6);
  EXPECT_EQ(of.bound(), "latency");
}

TEST(Roofs, HaveAtLeastMemoryForLargeOperands) {
  peaks of = device();
  of.levels.pop_back();
  EXPECT_EQ(roofs_of(0, std::vector<operand_traffic>{{1 << 30, 0, read}}, of).level, "l2");
}

TEST(Hot, OperandsHaveTheDistanceOfTheOthers) {
  const std::vector<operand_traffic> found = hot({{100, 7, read}, {30, 7, read}, {5, 7, written}});
  EXPECT_EQ(found[0].distance, 35);
  EXPECT_EQ(found[1].distance, 105);
  EXPECT_EQ(found[2].distance, 130);
  EXPECT_TRUE(found[2].written);
}

TEST(Peaks, AreCompleteWithEveryRoof) {
  EXPECT_TRUE(device().complete());
  const auto without = [](auto change) {
    peaks of = device();
    change(of);
    return of.complete();
  };
  EXPECT_FALSE(without([](peaks& of) { of.flops = 0; }));
  EXPECT_FALSE(without([](peaks& of) { of.call = 0; }));
  EXPECT_FALSE(without([](peaks& of) { of.levels.clear(); }));
  EXPECT_FALSE(without([](peaks& of) { of.levels[1].copy = 0; }));
}

}  // namespace analysis_roofline_test
}  // namespace layerbench::analysis
