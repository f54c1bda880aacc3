// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// Tells whether the processors run at their usual speed now, by timing a small fixed piece of
/// work. A lower clock rate slows a thread down, and so does work on the other hardware thread of
/// its core, for instance by another virtual machine. The system's own counters show neither.
class frequency_probe {
 public:
  /// `work` does the work and returns the seconds that it took; `now` is a clock for time limits.
  explicit frequency_probe(std::function<double()> work,
                           std::function<double()> now = stopwatch::now);

  /// Takes one reading. Returns whether the speed is usual.
  [[nodiscard]] bool at_usual_speed();

  /// Waits for the usual speed. Returns whether it came. All waits together take at most half of
  /// the time since construction; over budget there is no wait.
  bool wait();

  /// Share of the readings that were slower than usual.
  [[nodiscard]] double slow_share() const;

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
  void learn(double seconds);

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
void exercise_core(std::int64_t iterations);

using probe_maker = std::function<std::unique_ptr<frequency_probe>(compute_device&)>;

/// A probe that finds every speed usual.
[[nodiscard]] std::unique_ptr<frequency_probe> any_speed(compute_device& /*device*/);

/// A probe of the processors that a device uses. For a device other than the host it finds every
/// speed usual.
[[nodiscard]] std::unique_ptr<frequency_probe> frequency_probe_of(compute_device& device);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/machine/frequency_probe-inl.hpp>
#endif
