// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/timing/measurement_pass.hpp>

namespace layerbench::run {
namespace timing_measurement_pass_test {

using ::testing::Not;

/// Of samples in any order.
stall_free_mean mean_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return mean_without_stalls(seconds);
}

std::vector<double> mixed(std::size_t fast, double slow_seconds, std::size_t slow) {
  std::vector<double> all(fast, 1.0);
  all.insert(all.end(), slow, slow_seconds);
  return all;
}

TEST(Mean, OfOneSampleOrEqualOnesIsTheSample) {
  EXPECT_EQ(mean_of({3}).seconds, 3);
  EXPECT_EQ(mean_of({3}).stalls, 0);
  EXPECT_EQ(mean_of({3, 3, 3, 3}).seconds, 3);
  EXPECT_EQ(mean_of({0, 0, 0}).seconds, 0);
}

TEST(Mean, CountsSmallDisturbances) {
  EXPECT_DOUBLE_EQ(mean_of({1, 1, 1, 1.4}).seconds, 1.1);
  EXPECT_DOUBLE_EQ(mean_of({1, 1, 2}).seconds, 4.0 / 3) << "twice is no stall yet";
}

TEST(Mean, LeavesOutRareStallsAndSaysHowMany) {
  const stall_free_mean row = mean_of(mixed(38, 100, 2));
  EXPECT_EQ(row.seconds, 1);
  EXPECT_EQ(row.stalls, 2);
  EXPECT_EQ(mean_of({1, 1, 50}).seconds, 1) << "a single one, of however few samples";
}

TEST(Mean, CountsDisturbancesThatEveryStepMeets) {
  constexpr double microsecond = 1e-6;
  std::vector<double> seconds(99, 10 * microsecond);
  seconds.push_back(400 * microsecond);
  EXPECT_NEAR(mean_of(seconds).seconds, 13.9 * microsecond, 1e-12);
  seconds.back() = 600 * microsecond;
  EXPECT_NEAR(mean_of(seconds).seconds, 10 * microsecond, 1e-12) << "that is a stall";
  seconds.back() = 25 * microsecond;  // a mean of 100 calls
  EXPECT_NEAR(mean_without_stalls(seconds, 100).seconds, 10 * microsecond, 1e-12);
}

TEST(Mean, OfTwoSamplesLeavesOutNone) {
  EXPECT_EQ(mean_of({1, 9}).seconds, 5) << "which of them would be the stall?";
}

TEST(Mean, CountsBothModesOfWorkThatHasTwo) {
  EXPECT_DOUBLE_EQ(mean_of(mixed(60, 1.5, 40)).seconds, 1.2);
  EXPECT_DOUBLE_EQ(mean_of(mixed(40, 3, 60)).seconds, 2.2);
  // Too frequent for stalls: every step of a model meets some.
  const stall_free_mean row = mean_of(mixed(60, 3, 40));
  EXPECT_DOUBLE_EQ(row.seconds, 1.8);
  EXPECT_EQ(row.stalls, 40);
}

/// A row of calls that do what `call` does, for at least `least_time`.
result::measurement measured(const std::function<void(std::int64_t)>& call, double least_time) {
  stopwatch watch(clock::thread_cpu);
  const sampling how{
      .warm_up = 0, .least_time = least_time, .most_time = 4 * least_time, .most_calls = 1};
  result::measurement row;
  const pass_quality quality =
      measure_pass(1, watch, [&] { return sample(watch, [](std::int64_t) {}, call, how); }, row);
  EXPECT_EQ(row.counters.at("disturbed") != 0, quality.disturbed());
  return row;
}

void spin(std::int64_t /*calls*/) {
  const double start = now(clock::thread_cpu);
  while (now(clock::thread_cpu) - start < 0.001) {
  }
}

TEST(MeasurementPass, TellsItsSamplesInOrder) {
  const result::measurement row = measured(spin, 0.03);
  const auto& counters = row.counters;
  EXPECT_GE(row.seconds, 0.00099);
  EXPECT_LE(counters.at("min_s"), counters.at("low_s"));
  EXPECT_LE(counters.at("low_s"), row.seconds);
  EXPECT_LE(row.seconds, counters.at("high_s"));
  EXPECT_LE(row.seconds, counters.at("p95_s"));
  EXPECT_LE(counters.at("p95_s"), counters.at("p99_s"));
  EXPECT_GE(counters.at("mean_s"), counters.at("min_s"));
  EXPECT_EQ(counters.at("samples"), static_cast<double>(row.calls));
}

TEST(MeasurementPass, OfFewSamplesHasNoInterval) {
  const result::measurement row = measured(spin, 0);
  EXPECT_EQ(row.counters.at("samples"), 1);
  EXPECT_THAT(row.counters, Not(::testing::Contains(::testing::Key("low_s"))));
  EXPECT_TRUE(row.counters.contains("mean_s"));
}

TEST(MeasurementPass, IsDisturbedWhereTheThreadHadNoProcessor) {
  const auto waits = [](std::int64_t calls) {
    spin(calls);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  const result::measurement row = measured(waits, 0.01);
  EXPECT_EQ(row.counters.at("disturbed"), 1);
  EXPECT_GT(row.counters.at("wall_s"), row.counters.at("cpu_s"));
}

TEST(MeasurementPass, IsMarkedWhereAllSamplesWereSlowed) {
  const auto marked = [](bool all_slowed) {
    result::measurement row;
    samples taken{.seconds = {1, 1}, .calls = 2, .calls_per_sample = 1};
    taken.all_slowed = all_slowed;
    stopwatch watch(clock::thread_cpu);
    static_cast<void>(measure_pass(1, watch, [&] { return taken; }, row));
    return row;
  };
  EXPECT_TRUE(marked(true).slowed());
  EXPECT_TRUE(marked(true).disturbed());
  EXPECT_FALSE(marked(false).slowed());
}

TEST(MergedPasses, AreThoseAtTheUsualSpeedIfThereAreSome) {
  const auto pass = [](double seconds, bool disturbed, bool slowed) {
    result::measurement row;
    row.seconds = seconds;
    row.counters = {{"disturbed", disturbed ? 1 : 0}, {"all_slowed", slowed ? 1 : 0}};
    return row;
  };
  EXPECT_EQ(merged_passes({pass(5, true, true), pass(3, true, false), pass(6, true, true)}).seconds,
            3);
  EXPECT_EQ(
      merged_passes({pass(5, true, true), pass(3, true, false), pass(2, false, false)}).seconds, 2);
  EXPECT_EQ(merged_passes({pass(5, true, true), pass(3, true, true), pass(6, true, true)}).seconds,
            5);
}

/// How many of `passes` are repeated where a share of repetitions helps.
int repeated(retry_benefit& benefit, int passes, int one_helps_in) {
  int count = 0;
  for (int i = 0; i < passes; ++i) {
    if (!benefit.is_likely()) continue;
    ++count;
    benefit.note(one_helps_in > 0 && count % one_helps_in == 0);
  }
  return count;
}

TEST(RetryBenefit, IsLikelyWhereRepetitionsHelp) {
  retry_benefit benefit;
  EXPECT_EQ(repeated(benefit, 200, 1), 200);
  EXPECT_GT(repeated(benefit, 200, 2), 180);
}

TEST(RetryBenefit, IsTriedAgainWhereRepetitionsNeverHelped) {
  retry_benefit benefit;
  EXPECT_LT(repeated(benefit, 20, 0), 20);
  EXPECT_EQ(repeated(benefit, 200, 0), 20);
  EXPECT_GT(repeated(benefit, 200, 1), 150) << "the crowd has gone";
}

}  // namespace timing_measurement_pass_test
}  // namespace layerbench::run
