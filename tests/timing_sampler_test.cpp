// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/measurement_pass.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {
namespace timing_sampler_test {

using ::testing::Each;
using ::testing::SizeIs;

/// A machine on which nothing disturbs, as its own stopwatch. Its times are powers of two, so that
/// sums are exact.
struct machine {
  double call_seconds;
  double clock_seconds;
  double setup_seconds = 0;  ///< to set up one call
  double time = 0;
  double started = 0;
  std::vector<std::int64_t> batches = {};  ///< `times` of each use of call()

  [[nodiscard]] lap cost() const { return {clock_seconds, clock_seconds, clock_seconds}; }
  [[nodiscard]] double now() const { return time; }
  void start() { started = time; }
  [[nodiscard]] lap stop() {
    const double seconds = (time += clock_seconds) - started;
    return {seconds, seconds, seconds};
  }
  void set_up(std::int64_t times) { time += setup_seconds * static_cast<double>(times); }
  void call(std::int64_t times) {
    batches.push_back(times);
    time += call_seconds * static_cast<double>(times);
  }
  samples sample(const sampling& how) {
    return sample(how, [this](std::int64_t n) { call(n); });
  }
  /// The same with calls of another kind.
  samples sample(const sampling& how, const std::function<void(std::int64_t)>& other_call) {
    return run::sample(*this, [this](std::int64_t n) { set_up(n); }, other_call, how);
  }
  [[nodiscard]] std::int64_t calls() const {
    return std::accumulate(batches.begin(), batches.end(), std::int64_t{0});
  }
};

constexpr double microsecond = 0x1p-20;
constexpr double millisecond = 0x1p-10;

constexpr sampling at_usual_speed{
    .warm_up = 2 * millisecond, .least_time = 40 * millisecond, .most_time = 160 * millisecond};

TEST(Sampler, TellsAConstantTimeExactly) {
  for (const double call_seconds : {0x1p-30, 0x1p-24, 0x1p-20, 0x1p-12, 0x1p-3}) {
    for (const double clock_seconds : {0.0, 0x1p-25, 0x1p-21}) {
      machine target{call_seconds, clock_seconds};
      const samples taken = target.sample(at_usual_speed);
      EXPECT_THAT(taken.seconds, Each(::testing::DoubleNear(call_seconds, 1e-9 * call_seconds)))
          << call_seconds << ' ' << clock_seconds;
    }
  }
  machine device{0x1p-12, 0x1p-22};
  EXPECT_EQ(stats::median(device.sample(at_usual_speed).seconds), 0x1p-12);
}

TEST(Sampler, TheClockIsAtMostAThousandthOfASample) {
  const double clock_seconds = microsecond / 4;
  for (const double call_seconds : {0x1p-30, 0x1p-26, 0x1p-22, 0x1p-18, 0x1p-10}) {
    machine device{call_seconds, clock_seconds};
    const samples taken = device.sample(at_usual_speed);
    const double sample_seconds = call_seconds * static_cast<double>(device.batches.back());
    EXPECT_GE(sample_seconds, 1000 * clock_seconds * (1 - 1e-9)) << call_seconds;
    EXPECT_GE(taken.seconds.size(), 40U) << call_seconds;
  }
}

TEST(Sampler, KnowsCallsFarShorterThanTheClock) {
  const double clock_seconds = 64 * microsecond;
  machine device{0x1p-30, clock_seconds};
  const samples taken = device.sample(at_usual_speed);
  EXPECT_NEAR(stats::median(taken.seconds), 0x1p-30, 0x1p-30 * 1e-6);
  EXPECT_GE(static_cast<double>(device.batches.back()) * 0x1p-30, 999 * clock_seconds);
}

TEST(Sampler, HasNoMoreThanAThousandSamples) {
  machine device{microsecond, 0};
  const samples taken = device.sample(at_usual_speed);
  EXPECT_LE(taken.seconds.size(), 1000U);
  EXPECT_GE(taken.seconds.size(), 900U);
}

TEST(Sampler, WarmsUpForTheTimeAskedFor) {
  for (const double warm_up : {millisecond, 8 * millisecond, 128 * millisecond}) {
    machine device{16 * microsecond, 0};
    const samples taken =
        device.sample({.warm_up = warm_up, .least_time = millisecond, .most_time = millisecond});
    const double untimed = static_cast<double>(device.calls() - taken.calls) * 16 * microsecond;
    EXPECT_GE(untimed, warm_up);
    EXPECT_LT(untimed, 3 * warm_up);
  }
}

TEST(Sampler, TakesACallThatNeedsNoWarmUpAsItIs) {
  machine device{0x1p-3, 0};
  const samples taken = device.sample(
      {.warm_up = 0, .least_time = millisecond, .most_time = 4 * millisecond, .most_calls = 1});
  EXPECT_EQ(device.calls(), 1);
  EXPECT_THAT(taken.seconds, ::testing::ElementsAre(0x1p-3));
}

TEST(Sampler, WarmUpIsNotInTheSamples) {
  machine device{millisecond, 0};
  const auto slow_at_first = [&](std::int64_t times) {
    device.call(times);
    if (device.batches.size() == 1) device.time += 1;  // pages, caches, code that is made now
  };
  const samples taken = device.sample(at_usual_speed, slow_at_first);
  EXPECT_THAT(taken.seconds, Each(millisecond));
}

TEST(Sampler, CountsTheTimedCalls) {
  for (const double call_seconds : {0x1p-26, 0x1p-20, 0x1p-8, 1.0}) {
    machine device{call_seconds, 0};
    const samples taken = device.sample(at_usual_speed);
    const auto samples_taken = static_cast<std::int64_t>(taken.seconds.size());
    EXPECT_EQ(taken.calls, samples_taken * device.batches.back()) << call_seconds;
    const auto warm_up = static_cast<std::int64_t>(device.batches.size()) - samples_taken;
    EXPECT_GE(warm_up, 1);
    EXPECT_EQ(device.calls() - taken.calls, (std::int64_t{1} << warm_up) - 1) << call_seconds;
  }
}

TEST(Sampler, TakesFewSamplesOfALongCall) {
  const double call = at_usual_speed.most_time * 0.9;
  machine device{call, microsecond};
  const samples taken = device.sample(at_usual_speed);
  EXPECT_THAT(taken.seconds, ::testing::ElementsAre(call, call));
  EXPECT_EQ(taken.calls, 2);
  EXPECT_THAT(device.batches, SizeIs(3));  // and one warm-up call
}

TEST(Sampler, TakesASingleSampleOfALongerCall) {
  machine device{8.0, microsecond};
  EXPECT_THAT(device.sample(at_usual_speed).seconds, ::testing::ElementsAre(8.0));
}

TEST(Sampler, MakesCallsReadyOutsideOfTheTiming) {
  machine device{16 * microsecond, 0, 32 * microsecond};
  const samples taken = device.sample(at_usual_speed);
  EXPECT_THAT(taken.seconds, Each(16 * microsecond));
  EXPECT_DOUBLE_EQ(taken.wall, 16 * microsecond * static_cast<double>(taken.calls));
}

TEST(Sampler, EndsWhenMakingReadyTakesTooLong) {
  machine device{16 * microsecond, 0, 16 * millisecond};
  // Three calls a lap, so that there are no more than a thousand samples.
  EXPECT_THAT(device.sample(at_usual_speed).seconds, SizeIs(4));
  machine slower{16 * microsecond, 0, 1.0};
  EXPECT_THAT(slower.sample(at_usual_speed).seconds, SizeIs(at_usual_speed.least_samples));
}

TEST(Sampler, NeverMakesMoreCallsReadyThanItMay) {
  for (const std::int64_t most : {1, 3, 64}) {
    machine device{0x1p-24, microsecond};
    sampling how = at_usual_speed;
    how.most_calls = most;
    const samples taken = device.sample(how);
    EXPECT_THAT(device.batches, Each(::testing::Le(most)));
    EXPECT_EQ(taken.calls_per_sample, most);
    EXPECT_THAT(taken.seconds, Each(::testing::DoubleNear(0x1p-24, 1e-12)));
  }
}

TEST(Sampler, AStallInTheWarmUpDoesNotMakeBatchesSmall) {
  machine device{microsecond, microsecond / 4};
  const auto stalls = [&](std::int64_t times) {
    device.call(times);
    if (device.batches.size() == 5) device.time += 64 * millisecond;
  };
  const samples taken = device.sample(at_usual_speed, stalls);
  EXPECT_GE(static_cast<double>(taken.calls_per_sample) * microsecond, 999 * microsecond / 4);
}

TEST(Sampler, MeasuresForTheTimeAskedFor) {
  for (const double least_time : {0.0, millisecond, 64 * millisecond, 1.0}) {
    machine device{32 * microsecond, 0};
    const samples taken =
        device.sample({.warm_up = millisecond, .least_time = least_time, .most_time = 2.0});
    const double timed = static_cast<double>(taken.calls) * 32 * microsecond;
    EXPECT_GE(timed, least_time);
    EXPECT_LE(timed, least_time * 1.1 + 64 * microsecond);
    EXPECT_GE(taken.seconds.size(), 2U);
  }
}

TEST(Sampler, KeepsTheDisturbedSamplesApart) {
  machine device{millisecond, 0};
  const auto disturbed = [&](std::int64_t times) {
    device.call(times);
    if (device.batches.size() % 10 == 0) device.time += 5 * millisecond;
  };
  const samples taken = device.sample(at_usual_speed, disturbed);
  EXPECT_EQ(stats::median(taken.seconds), millisecond);
  EXPECT_THAT(taken.seconds, ::testing::Contains(6 * millisecond));
}

TEST(Sampler, ShowsADriftWithinAMeasurementPass) {
  machine device{millisecond, 0};
  const auto slower_and_slower = [&](std::int64_t times) {
    device.call(times);
    device.call_seconds += millisecond / 64;
  };
  const samples taken = device.sample(at_usual_speed, slower_and_slower);
  ASSERT_THAT(taken.seconds, SizeIs(::testing::Gt(20U)));
  for (std::size_t i = 1; i < taken.seconds.size(); ++i) {
    EXPECT_EQ(taken.seconds[i] - taken.seconds[i - 1], millisecond / 64);
  }
}

TEST(Sampler, TakesASingleSampleWhereThatIsEnough) {
  machine device{8.0, microsecond};
  sampling how = at_usual_speed;
  how.least_samples = 1;
  EXPECT_THAT(device.sample(how).seconds, ::testing::ElementsAre(8.0));
}

int questions_before_stop = 0;
bool stop_now() { return questions_before_stop-- <= 0; }

TEST(Sampler, EndsAfterTheRunningCallWhenItIsStopped) {
  for (const int questions : {0, 1, 2, 10}) {
    machine device{1.0, 0};
    questions_before_stop = questions;
    const samples taken = run::sample(
        device, [](std::int64_t) {}, [&](std::int64_t n) { device.call(n); },
        {.warm_up = millisecond, .least_time = 100, .most_time = 100}, &stop_now);
    EXPECT_THAT(taken.seconds, SizeIs(questions)) << "none in the warm-up call";
    EXPECT_EQ(device.calls(), questions + 1);
  }
}

/// A call's time in milliseconds by chance, and the median and the mean of that.
struct chance {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
  double median;
  double mean;
};

double uniform(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11U) * 0x1p-53; }

TEST(Sampler, ItsIntervalHoldsTheMedianAndItsMeanIsTrue) {
  using engine = std::mt19937_64;
  const std::vector<chance> chances{
      {"constant", [](engine&) { return 1; }, 1, 1},
      {"noise", [](engine& e) { return 0.9 + 0.2 * uniform(e); }, 1, 1},
      {"two modes", [](engine& e) { return (uniform(e) < 0.6 ? 1 : 1.5) + 0.1 * uniform(e); },
       1 + 0.1 * 5 / 6, 1.25},
      {"rare stalls", [](engine& e) { return uniform(e) < 0.99 ? 0.9 + 0.2 * uniform(e) : 20; },
       0.9 + 0.2 * 0.5 / 0.99, 1}};
  constexpr int trials = 2000;
  for (const chance& item : chances) {
    engine random(1);
    int covered = 0;
    std::vector<double> means;
    for (int trial = 0; trial < trials; ++trial) {
      machine device{0, 0};
      const auto call = [&](std::int64_t) { device.time += item.draw(random) * millisecond; };
      samples taken = device.sample(at_usual_speed, call);
      std::ranges::sort(taken.seconds);
      const auto found = stats::median_interval(taken.seconds);
      const double median = item.median * millisecond;
      covered += found && found->low <= median && median <= found->high ? 1 : 0;
      means.push_back(mean_without_stalls(taken.seconds).seconds / millisecond);
    }
    EXPECT_GE(covered, 0.95 * trials) << item.name;
    // Measurement passes with several stalls are rare; predictions leave them out.
    EXPECT_NEAR(stats::median(std::move(means)), item.mean, 0.01 * item.mean) << item.name;
  }
}

}  // namespace timing_sampler_test
}  // namespace layerbench::run
