// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

/// Tells whether the processors run at their usual speed now, by timing a small fixed piece of
/// work. A lower clock rate slows a thread down, and so does work on the other hardware thread of
/// its core, for instance by another virtual machine. The system's own counters show neither.
class frequency_probe {
 public:
  /// `work` does the work and returns the seconds that it took; `now` is a clock for time limits.
  explicit frequency_probe(std::function<double()> work,
                           std::function<double()> now = stopwatch::now)
      : work_(std::move(work)), now_(std::move(now)), start_(now_()) {
    while (readings_.size() < first_readings) learn(work_());
  }

  /// Takes one reading. Returns whether the speed is usual.
  [[nodiscard]] bool at_usual_speed() {
    const double seconds = work_();
    learn(seconds);
    return seconds <= slow * usual_seconds_;
  }

  /// Waits for the usual speed. Returns whether it came. All waits together take at most half of
  /// the time since construction; over budget there is no wait.
  bool wait() {
    const double begin = now_();
    const double longest =
        over_budget_ ? 0.0 : std::min(longest_wait, (begin - start_) / 2 - waited_);
    bool usual = at_usual_speed();
    while (!usual && now_() - begin < longest && !interrupt_guard::interrupted())
      usual = at_usual_speed();
    waited_ += now_() - begin;
    return usual;
  }

  /// Share of the readings that were slower than usual.
  [[nodiscard]] double slow_share() const {
    const auto slower = std::ranges::count_if(
        readings_, [&](double value) { return value > slow * usual_seconds_; });
    return static_cast<double>(slower) / static_cast<double>(readings_.size());
  }

  /// Says whether the measurement is over its time budget, so that there is no time to wait.
  void set_over_budget(bool over) { over_budget_ = over; }

  /// Seconds between two readings during a measurement.
  static constexpr double interval = 0.002;

 private:
  static constexpr std::size_t first_readings = 20;
  /// Undisturbed readings differ by 2 %. Readings beside a busy hardware thread of the same core
  /// take up to twice as long.
  static constexpr double slow = 1.08;
  static constexpr double longest_wait = 0.5;  // seconds

  /// Keeps a reading. The usual speed is the fastest one that a twentieth of the readings reach.
  void learn(double seconds) {
    constexpr double often = 0.05;
    if (now_() < next_reading_) return;  // wait() reads more often, which must not count more
    next_reading_ = now_() + interval;
    readings_.push_back(seconds);
    if (readings_.size() < next_sort_) return;
    next_sort_ = readings_.size() + readings_.size() / 16 + 1;
    std::ranges::sort(readings_);
    usual_seconds_ = stats::quantile(readings_, often);
  }

  std::function<double()> work_;
  std::function<double()> now_;
  double start_;
  double waited_ = 0;
  bool over_budget_ = false;
  std::vector<double> readings_;
  double next_reading_ = 0;
  std::size_t next_sort_ = first_readings;
  double usual_seconds_ = std::numeric_limits<double>::infinity();
};

/// Keeps all integer units of this thread's core busy for `iterations`, without memory accesses, so
/// that any other work on the core makes it take longer: twice as long beside a busy second
/// hardware thread.
inline void exercise_core(std::int64_t iterations) {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  for (std::int64_t i = 0; i < iterations; ++i) {
    a += 3;
    b ^= 5;
    c += 7;
    d ^= 9;
    e += 11;
    f ^= 13;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));  // keeps each addition
  }
}

using probe_maker = std::function<std::unique_ptr<frequency_probe>(compute_device&)>;

/// A probe that finds every speed usual.
[[nodiscard]] inline std::unique_ptr<frequency_probe> any_speed(compute_device& /*device*/) {
  return std::make_unique<frequency_probe>([] { return 1.0; });
}

/// A probe of the processors that a device uses. For a device other than the host it finds every
/// speed usual.
[[nodiscard]] inline std::unique_ptr<frequency_probe> frequency_probe_of(compute_device& device) {
  if (!device.is_host()) return any_speed(device);
  auto work = [&device,
               watch = stopwatch(clock_of(device.threads()))](std::int64_t iterations) mutable {
    device.activate();
    // Wakes the threads, and outlasts the 10 us in which integer work after vector work is slower.
    device.on_all_threads([iterations](int /*thread*/) { exercise_core(iterations / 4); });
    watch.start();
    device.on_all_threads([iterations](int /*thread*/) { exercise_core(iterations); });
    return watch.stop().seconds;
  };
  constexpr double least_time = 50e-6;
  std::int64_t iterations = 1024;
  while (work(iterations) < least_time) iterations *= 2;
  return std::make_unique<frequency_probe>(
      [work = std::move(work), iterations]() mutable { return work(iterations); });
}

}  // namespace layerbench::run
