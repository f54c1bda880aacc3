// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include <layerbench/backend/device.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {
namespace detail {

/// A cache line that two threads write alternately.
class shared_line {
 public:
  /// One thread calls this with `side` 0, the other with 1. Returns the seconds from one write by
  /// this thread to the next; nothing where the other thread does not call it.
  [[nodiscard]] std::optional<double> pass(int side) {
    constexpr int trips = 500;
    const double start = stopwatch::now();
    double begin = start;
    for (int i = 0; i <= trips; ++i) {
      if (!wait_for(2 * i + side, start)) return std::nullopt;
      if (i == 1) begin = stopwatch::now();  // now the other thread has started
      turn_.store(2 * i + side + 1, std::memory_order_release);
    }
    return (stopwatch::now() - begin) / trips;
  }

 private:
  /// Waits until `turn` writes were made. Returns whether they were made in time.
  bool wait_for(int turn, double start) const {
    constexpr int spins_per_reading = 4096;
    constexpr double longest = 0.01;  // seconds, as two threads on one core need
    for (int spins = 1; turn_.load(std::memory_order_acquire) != turn; ++spins) {
      if (spins % spins_per_reading == 0 && stopwatch::now() - start > longest) return false;
    }
    return true;
  }

  alignas(128) std::atomic<int> turn_ = 0;  // processors prefetch lines in pairs
};

}  // namespace detail

/// Seconds that a cache line takes from the device's first thread to another one and back: the
/// maximum over the other threads. Nothing where there is one thread only, where the threads are
/// not this program's, or where two of them did not run at the same time.
[[nodiscard]] inline std::optional<double> longest_core_to_core_latency(compute_device& device) {
  if (!device.is_host()) return std::nullopt;
  std::optional<double> longest;
  device.activate();
  for (int other = 1; other < device.threads(); ++other) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {  // the minimum is undisturbed
      detail::shared_line line;
      std::optional<double> taken;
      device.on_all_threads([&](int thread) {
        if (thread == 0) taken = line.pass(0);
        if (thread == other) static_cast<void>(line.pass(1));
      });
      if (!taken) return std::nullopt;
      least = std::min(least, *taken);
    }
    longest = std::max(longest, std::optional(least));
  }
  return longest;
}

}  // namespace layerbench::run
