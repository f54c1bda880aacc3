// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <layerbench/timing/clock.hpp>

namespace layerbench::run {
namespace timing_clock_test {

TEST(Stopwatch, GoesForwardAndHasACost) {
  for (const int threads : {1, 2}) {
    stopwatch watch(clock_of(threads));
    EXPECT_GT(watch.cost().seconds, 0);
    EXPECT_LT(watch.cost().seconds, 0.001);
    watch.start();
    volatile double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum = sum + i;
    const lap first = watch.stop();
    EXPECT_GT(first.seconds, watch.cost().seconds);
    EXPECT_GT(first.cpu, 0);
    EXPECT_GE(first.wall, threads == 1 ? 0 : first.seconds);
  }
}

TEST(Stopwatch, OfOneThreadDoesNotCountWaiting) {
  stopwatch watch(clock::thread_cpu);
  watch.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const lap waited = watch.stop();
  EXPECT_GE(waited.wall, 0.03);
  EXPECT_LT(waited.seconds, 0.5 * waited.wall);
}

TEST(Stopwatch, OfSeveralThreadsDoes) {
  stopwatch watch(clock::wall);
  watch.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_GE(watch.stop().seconds, 0.03);
}

}  // namespace timing_clock_test
}  // namespace layerbench::run
