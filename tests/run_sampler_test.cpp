// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/run/clock.hpp>
#include <layerbench/run/sampler.hpp>

namespace layerbench::run {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

/// A machine on which nothing disturbs. Its times are powers of two, so that sums are exact.
struct machine {
  double call_seconds;
  double clock_seconds;
  double time = 0;
  std::vector<std::int64_t> batches = {};  ///< `times` of each use of call()

  double now() { return time += clock_seconds; }
  void call(std::int64_t times) {
    batches.push_back(times);
    time += call_seconds * static_cast<double>(times);
  }
  samples sample(const sampling& how) {
    return run::sample([this] { return now(); }, [this](std::int64_t n) { call(n); }, how);
  }
  [[nodiscard]] std::int64_t calls() const {
    return std::accumulate(batches.begin(), batches.end(), std::int64_t{0});
  }
};

constexpr double microsecond = 0x1p-20;
constexpr double millisecond = 0x1p-10;

/// What the scheduler asks for: a fifth of a second in five rounds.
constexpr sampling usual(double clock_cost) {
  return {.clock_cost = clock_cost, .warm_up = 2 * millisecond, .least_time = 40 * millisecond};
}

TEST(Sampler, TellsAConstantTimeExactly) {
  for (const double call_seconds : {0x1p-30, 0x1p-24, 0x1p-20, 0x1p-12, 0x1p-3}) {
    for (const double clock_seconds : {0.0, 0x1p-25, 0x1p-21}) {
      machine here{call_seconds, clock_seconds};
      const samples taken = here.sample(usual(clock_seconds));
      EXPECT_THAT(taken.seconds, Each(::testing::DoubleNear(call_seconds, 1e-9 * call_seconds)))
          << call_seconds << ' ' << clock_seconds;
    }
  }
  machine here{0x1p-12, 0x1p-22};
  EXPECT_EQ(stats::median(here.sample(usual(0x1p-22)).seconds), 0x1p-12);
}

TEST(Sampler, TheClockIsAtMostAThousandthOfASample) {
  const double clock_seconds = microsecond / 4;
  for (const double call_seconds : {0x1p-30, 0x1p-26, 0x1p-22, 0x1p-18, 0x1p-10}) {
    machine here{call_seconds, clock_seconds};
    const samples taken = here.sample(usual(clock_seconds));
    const double sample_seconds = call_seconds * static_cast<double>(here.batches.back());
    EXPECT_GE(sample_seconds, 1000 * clock_seconds * (1 - 1e-9)) << call_seconds;
    EXPECT_GE(taken.seconds.size(), 40U) << call_seconds;
  }
}

TEST(Sampler, KnowsCallsFarShorterThanTheClock) {
  const double clock_seconds = 64 * microsecond;
  machine here{0x1p-30, clock_seconds};
  const samples taken = here.sample(usual(clock_seconds));
  EXPECT_NEAR(stats::median(taken.seconds), 0x1p-30, 0x1p-30 * 1e-6);
  EXPECT_GE(static_cast<double>(here.batches.back()) * 0x1p-30, 999 * clock_seconds);
}

TEST(Sampler, HasNoMoreThanAThousandSamples) {
  machine here{microsecond, 0};
  const samples taken = here.sample(usual(0));
  EXPECT_LE(taken.seconds.size(), 1000U);
  EXPECT_GE(taken.seconds.size(), 900U);
}

TEST(Sampler, WarmsUpForTheTimeAskedFor) {
  for (const double warm_up : {millisecond, 8 * millisecond, 128 * millisecond}) {
    machine here{16 * microsecond, 0};
    const samples taken =
        here.sample({.clock_cost = 0, .warm_up = warm_up, .least_time = millisecond});
    const double untimed = static_cast<double>(here.calls() - taken.calls) * 16 * microsecond;
    EXPECT_GE(untimed, warm_up);
    EXPECT_LT(untimed, 3 * warm_up);
  }
}

TEST(Sampler, WarmUpIsNotInTheSamples) {
  machine here{millisecond, 0};
  const auto slow_at_first = [&](std::int64_t times) {
    here.call(times);
    if (here.batches.size() == 1) here.time += 1;  // pages, caches, code that is made now
  };
  const samples taken = sample([&] { return here.now(); }, slow_at_first, usual(0));
  EXPECT_THAT(taken.seconds, Each(millisecond));
}

TEST(Sampler, CountsTheTimedCalls) {
  for (const double call_seconds : {0x1p-26, 0x1p-20, 0x1p-8, 1.0}) {
    machine here{call_seconds, 0};
    const samples taken = here.sample(usual(0));
    const auto samples_taken = static_cast<std::int64_t>(taken.seconds.size());
    EXPECT_EQ(taken.calls, samples_taken * here.batches.back()) << call_seconds;
    const auto warm_up = static_cast<std::int64_t>(here.batches.size()) - samples_taken;
    EXPECT_GE(warm_up, 1);
    EXPECT_EQ(here.calls() - taken.calls, (std::int64_t{1} << warm_up) - 1) << call_seconds;
  }
}

TEST(Sampler, TakesOneSampleOfALongCall) {
  machine here{8.0, microsecond};
  const samples taken = here.sample(usual(microsecond));
  EXPECT_THAT(taken.seconds, ::testing::ElementsAre(8.0));
  EXPECT_EQ(taken.calls, 1);
  EXPECT_THAT(here.batches, SizeIs(2));  // and one warm-up call
}

TEST(Sampler, MeasuresForTheTimeAskedFor) {
  for (const double least_time : {0.0, millisecond, 64 * millisecond, 1.0}) {
    machine here{32 * microsecond, 0};
    const samples taken =
        here.sample({.clock_cost = 0, .warm_up = millisecond, .least_time = least_time});
    const double timed = static_cast<double>(taken.calls) * 32 * microsecond;
    EXPECT_GE(timed, least_time);
    EXPECT_LE(timed, least_time * 1.1 + 32 * microsecond);
    EXPECT_GE(taken.seconds.size(), 1U);
  }
}

TEST(Sampler, KeepsTheDisturbedSamplesApart) {
  machine here{millisecond, 0};
  std::int64_t uses = 0;
  const auto disturbed = [&](std::int64_t times) {
    here.call(times);
    if (++uses % 10 == 0) here.time += 5 * millisecond;
  };
  const samples taken = sample([&] { return here.now(); }, disturbed, usual(0));
  EXPECT_EQ(stats::median(taken.seconds), millisecond);
  EXPECT_THAT(taken.seconds, ::testing::Contains(6 * millisecond));
}

TEST(Sampler, NeverGivesNegativeTimes) {
  machine here{0x1p-30, microsecond};
  const samples taken = here.sample({.clock_cost = 2 * microsecond,  // it was slower at first
                                     .warm_up = millisecond,
                                     .least_time = millisecond});
  EXPECT_THAT(taken.seconds, Each(::testing::Ge(0.0)));
}

TEST(Clock, GoesForwardAndHasACost) {
  for (const clock which : {clock::wall, clock::thread_cpu, clock::process_cpu}) {
    const double before = now(which);
    const double cost = clock_cost(which);
    EXPECT_GT(cost, 0);
    EXPECT_GE(now(which) - before, 200 * cost);
  }
}

TEST(Clock, OfOneThreadIsItsCpuTime) {
  EXPECT_EQ(clock_for(1), clock::thread_cpu);
  EXPECT_EQ(clock_for(2), clock::wall);
}

}  // namespace
}  // namespace layerbench::run
