// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/roofline/bottlenecks.hpp>

#include "support/mentions.hpp"
#include "support/peaks.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_bounds_test {

using result::results;
using testing::file_of_a_and_b;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using testing::only;
using testing::peak_file;
using ::testing::SizeIs;

constexpr std::int64_t far = 1 << 30;

/// Two layers: a reaches half the peak of 100 GFLOP/s twice, b three quarters of the bandwidth of
/// memory once.
results measured() {
  results file = file_of_a_and_b({2e-3, 2e-3, 2e-3}, {4e-4, 4e-4, 4e-4});
  for (result::measurement& row : file.rows) {
    row.counters["flops_exact"] = row.name.layer == "a" ? 1e8 : 1e3;
    row.counters["flops"] = row.name.layer == "a" ? 1.5e8 : 1e3;
    row.name.cache = "model";
  }
  auto& step = file.manifest.begin()->second;
  step[0].traffic = {{1000, 0, false}, {1000, 0, true}};
  step[1].op = "add";
  step[1].traffic = {{3000000, far, false}};
  for (result::measurement& row : file.rows) {
    if (row.name.layer == "b") row.name.op = "add";
  }
  return file;
}

TEST(PeaksIn, AreThoseOfTheRowsOfTheList) {
  const results file = peak_file();
  const std::vector<peaks> all = peaks_in({&file});
  ASSERT_THAT(all, SizeIs(1));
  const peaks& of = all.front();
  EXPECT_EQ(of.backend, "reference");
  EXPECT_EQ(of.dtype, "f32");
  EXPECT_EQ(of.threads, 3);
  EXPECT_DOUBLE_EQ(of.flops, 100e9);  // the faster of both products
  EXPECT_DOUBLE_EQ(of.call, 1e-6);
  ASSERT_THAT(of.levels, SizeIs(2));
  EXPECT_EQ(of.levels[0].name, "l2");
  EXPECT_DOUBLE_EQ(of.levels[0].capacity, 1e6);
  EXPECT_DOUBLE_EQ(of.levels[0].read, 50e9);  // without what a call takes
  EXPECT_EQ(of.levels[1].name, "memory");
  EXPECT_DOUBLE_EQ(of.levels[1].read, 10e9);
  EXPECT_DOUBLE_EQ(of.levels[1].write, 5e9);
  EXPECT_DOUBLE_EQ(of.levels[1].copy, 8e9);
  EXPECT_TRUE(of.complete());
}

TEST(PeaksIn, AreOfTheFastestRound) {
  results file = peak_file();
  for (result::measurement& row : file.rows) row.seconds *= row.round == 1 ? 1 : 1.5;
  EXPECT_DOUBLE_EQ(peaks_in({&file}).front().flops, 100e9);
  EXPECT_DOUBLE_EQ(peaks_in({&file}).front().levels.at(1).write, 5e9);
}

/// The start of a call, which both streams contain, cancels.
TEST(PeaksIn, AreOfTheDifferenceToAPartOfAStream) {
  results file = peak_file();
  for (const std::string kind : {"read", "write", "copy"}) {
    result::measurement part = file.rows.front();
    part.name.op = "stream";
    part.name.layer = kind + "_l2_part";
    part.seconds = 4e-6;
    part.counters = {{"bytes", 1.5e5}};
    file.rows.push_back(part);
  }
  const peaks of = peaks_in({&file}).front();
  ASSERT_THAT(of.levels, SizeIs(2));
  EXPECT_DOUBLE_EQ(of.levels[0].capacity, 1e6);
  EXPECT_DOUBLE_EQ(of.levels[0].read, 3.5e5 / 7e-6);
  EXPECT_DOUBLE_EQ(of.levels[0].write, 3.5e5 / 17e-6);
  EXPECT_DOUBLE_EQ(of.levels[1].read, 10e9) << "has no part";
  for (result::measurement& row : file.rows) {
    if (row.name.layer == "read_l2_part") row.seconds = 1.1e-5;
  }
  EXPECT_DOUBLE_EQ(peaks_in({&file}).front().levels.at(0).read, 50e9) << "it took as long";
}

TEST(PeaksIn, LeavesOutRowsThatFailed) {
  results file = peak_file();
  for (result::measurement& row : file.rows) {
    if (row.name.layer == "square_2048") row.error = "unsupported";
  }
  EXPECT_DOUBLE_EQ(peaks_in({&file}).front().flops, 50e9);
}

TEST(PeaksIn, AreSeparatedByTypeAndThreads) {
  results file = peak_file();
  result::measurement other = file.rows.front();
  other.name.model_case.dtype = "bf16";
  file.rows.push_back(other);
  other.name.model_case.parameters["threads"] = "1";
  file.rows.push_back(other);
  const std::vector<peaks> all = peaks_in({&file});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].dtype, "bf16");
  EXPECT_EQ(all[0].threads, 1);
  EXPECT_FALSE(all[0].complete());
  EXPECT_EQ(all[2].dtype, "f32");
  EXPECT_TRUE(all[2].complete());
}

TEST(PeaksIn, HaveTheBandwidthsOfAnyType) {
  results file = peak_file();
  result::measurement other = file.rows.front();
  other.name.model_case.dtype = "bf16";
  other.seconds /= 4;
  file.rows.push_back(other);
  const std::vector<peaks> all = peaks_in({&file});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].dtype, "bf16");
  EXPECT_DOUBLE_EQ(all[0].flops, 200e9);
  EXPECT_DOUBLE_EQ(all[1].flops, 100e9) << "products are of their own type alone";
  EXPECT_TRUE(all[0].complete());
  EXPECT_EQ(all[0].call, all[1].call);
  EXPECT_EQ(all[0].levels.at(1).copy, all[1].levels.at(1).copy);
}

TEST(Bounds, AreUnknownWithoutPeaks) {
  const prediction p = only({measured()});
  EXPECT_FALSE(p.limits);
  EXPECT_FALSE(p.layers.at(0).roofs);
  EXPECT_FALSE(share_of_roof(p.layers.at(0)));
  EXPECT_THAT(what_ifs(p), IsEmpty());
  EXPECT_THAT(worth_optimising(p), IsEmpty());
}

TEST(Bounds, NameTheBottleneckOfEachLayer) {
  for (const bool beside : {true, false}) {  // in the same files, or named
    const std::vector<results> files =
        beside ? std::vector{measured(), peak_file()} : std::vector{measured()};
    const std::vector<results> peaks{peak_file()};
    options chosen;
    if (!beside) chosen.peaks = peaks;
    const prediction p = only(files, chosen);
    ASSERT_TRUE(p.limits);
    ASSERT_THAT(p.layers, SizeIs(2));
    EXPECT_EQ(p.layers[0].roofs->bound(), "compute");
    EXPECT_DOUBLE_EQ(*share_of_roof(p.layers[0]), 0.5);
    EXPECT_EQ(p.layers[1].roofs->bound(), "memory");
    EXPECT_DOUBLE_EQ(*share_of_roof(p.layers[1]), 0.75);
    EXPECT_DOUBLE_EQ(*bytes(p.layers[0]), 2000);
    EXPECT_DOUBLE_EQ(*arithmetic_intensity(p.layers[0]), 5e4);
    EXPECT_DOUBLE_EQ(*p.layers[0].padded_flops, 1.5e8);
  }
}

TEST(Bounds, OfHotTimingsHaveAllOperandsInTheCache) {
  results file = measured();
  for (result::measurement& row : file.rows) row.name.cache = "hot";
  file.manifest.begin()->second[1].traffic = {{300000, far, false}, {200000, far, true}};
  const prediction p = only({file, peak_file()});
  EXPECT_EQ(p.cache, "hot");
  EXPECT_EQ(p.layers.at(1).roofs->bound(), "memory:l2");
}

TEST(Bounds, NeedPeaksOfTheSameConditions) {
  const auto limits_with = [](auto change) {
    results other = peak_file();
    for (result::measurement& row : other.rows) change(row.name.model_case);
    return only({measured(), other}).limits.has_value();
  };
  EXPECT_FALSE(limits_with([](result::case_name& of) { of.dtype = "bf16"; }));
  EXPECT_FALSE(limits_with([](result::case_name& of) { of.backend = "onednn"; }));
  EXPECT_FALSE(limits_with([](result::case_name& of) { of.parameters["threads"] = "2"; }));
}

TEST(Bounds, RefusePeaksOfAnotherDevice) {
  for (const char* field : {"device", "gpu"}) {
    std::vector<results> peaks{peak_file()};
    peaks.front().context[field] = "y";
    options chosen;
    chosen.peaks = peaks;
    EXPECT_THAT([&] { static_cast<void>(only({measured()}, chosen)); },
                ::testing::ThrowsMessage<bad_input>(mentions("peak.json", "y")));
  }
}

TEST(Bounds, AreUnknownForLayersOfUnknownOperands) {
  results file = measured();
  file.manifest.begin()->second[0].traffic.clear();
  const prediction p = only({file, peak_file()});
  EXPECT_TRUE(p.limits);
  EXPECT_FALSE(p.layers.at(0).roofs);
  EXPECT_TRUE(p.layers.at(1).roofs);
}

TEST(WorthOptimising, ListsLayersWithMostTimeAboveTheirRoof) {
  const prediction p = only({measured(), peak_file()});
  const std::vector<layer_time> layers = worth_optimising(p);
  ASSERT_THAT(layers, SizeIs(2));
  EXPECT_EQ(layers[0].name, "a");
  EXPECT_DOUBLE_EQ(seconds_above_roof(layers[0]), 2 * 1e-3);
  EXPECT_DOUBLE_EQ(seconds_above_roof(layers[1]), 1e-4);
  EXPECT_THAT(worth_optimising(p, 1), SizeIs(1));
}

TEST(WorthOptimising, LeavesOutLayersAboveThePeak) {
  results file = measured();
  for (result::measurement& row : file.rows) {
    if (row.name.layer == "a") row.counters["flops_exact"] = 3e8;
  }
  const prediction p = only({file, peak_file()});
  EXPECT_DOUBLE_EQ(*share_of_roof(p.layers.at(0)), 1.5);
  EXPECT_LT(seconds_above_roof(p.layers.at(0)), 0);
  EXPECT_THAT(worth_optimising(p), SizeIs(1));
}

TEST(WhatIf, ChangesTheStepByTheRoofs) {
  const prediction p = only({measured(), peak_file()});
  ASSERT_DOUBLE_EQ(p.step->seconds, 2 * 2e-3 + 4e-4);
  std::vector<std::pair<std::string, double>> found;
  for (const auto& [change, seconds] : what_ifs(p)) found.emplace_back(change, seconds);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_THAT(found[0].first, HasSubstr("conv"));
  EXPECT_DOUBLE_EQ(found[0].second, 2 * 1e-3 + 4e-4);
  EXPECT_THAT(found[1].first, HasSubstr("memory"));
  EXPECT_DOUBLE_EQ(found[1].second, 2 * 2e-3 + 2e-4);
  EXPECT_THAT(found[2].first, HasSubstr("layer"));
  EXPECT_DOUBLE_EQ(found[2].second, 2 * 1e-3 + 3e-4);
}

}  // namespace analysis_bounds_test
}  // namespace layerbench::analysis
