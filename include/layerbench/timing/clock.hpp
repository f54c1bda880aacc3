// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <time.h>

#include <layerbench/backend/device.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::run {

enum class clock { wall, thread_cpu, process_cpu };

/// Seconds since a fixed point in time.
[[nodiscard]] inline double now(clock which) {
  constexpr std::array<clockid_t, 3> ids{CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                         CLOCK_PROCESS_CPUTIME_ID};
  timespec t{};
  ::clock_gettime(ids.at(static_cast<std::size_t>(which)), &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// What a stopwatch measured between start() and stop().
struct lap {
  double seconds;  ///< by the clock that the stopwatch reports
  double wall;
  double cpu;  ///< of all threads

  /// Subtracts the cost of the stopwatch. The result is at least a nanosecond, the resolution of
  /// the clocks.
  [[nodiscard]] lap without(const lap& cost) const {
    return {std::max(seconds - cost.seconds, 1e-9), std::max(wall - cost.wall, 0.0),
            std::max(cpu - cost.cpu, 0.0)};
  }
};

/// The clock that counts for work of that many threads: CPU time for one, since waiting for a
/// processor does not lengthen it, and wall time for several.
[[nodiscard]] constexpr clock clock_of(int threads) {
  return threads == 1 ? clock::thread_cpu : clock::wall;
}

/// Times work by one of the clocks, or by the device's time where the device has a timer.
class stopwatch {
 public:
  /// `reported`: thread_cpu or wall.
  explicit stopwatch(clock reported, device_clock* device = nullptr)
      : one_thread_(reported == clock::thread_cpu), device_(device) {
    std::vector<lap> laps;
    for (int i = 0; i < 201; ++i) {
      start();
      laps.push_back(stop());
    }
    const auto median = [&](double lap::* clock) {
      std::vector<double> values;
      for (const lap& of : laps) values.push_back(of.*clock);
      return stats::median(std::move(values));
    };
    cost_ = {median(&lap::seconds), median(&lap::wall), median(&lap::cpu)};
  }

  /// The lap of no work.
  [[nodiscard]] const lap& cost() const { return cost_; }

  // The reported clock is read last in start() and first in stop(), so that reading the others is
  // not timed.
  void start() {
    if (one_thread_) {
      wall_ = run::now(clock::wall);
      cpu_ = run::now(clock::thread_cpu);
    } else {
      cpu_ = run::now(clock::process_cpu);
      wall_ = run::now(clock::wall);
    }
    if (device_ != nullptr) device_->start();
  }
  [[nodiscard]] lap stop() const {
    if (device_ != nullptr) {
      const double seconds = device_->stop();
      return {seconds, run::now(clock::wall) - wall_,
              run::now(one_thread_ ? clock::thread_cpu : clock::process_cpu) - cpu_};
    }
    if (one_thread_) {
      const double cpu = run::now(clock::thread_cpu) - cpu_;
      return {cpu, run::now(clock::wall) - wall_, cpu};
    }
    const double wall = run::now(clock::wall) - wall_;
    return {wall, wall, run::now(clock::process_cpu) - cpu_};
  }

  /// Whether a timer on the device counts.
  [[nodiscard]] bool uses_device_clock() const { return device_ != nullptr; }

  /// Wall time, for time limits.
  [[nodiscard]] static double now() { return run::now(clock::wall); }

 private:
  bool one_thread_;
  device_clock* device_;
  lap cost_{};
  double wall_ = 0;
  double cpu_ = 0;
};

/// A stopwatch by the clock that counts for a device's work.
[[nodiscard]] inline stopwatch stopwatch_of(compute_device& target) {
  const bool waits = target.waits() || target.timing() == timing_mode::single;
  const bool cpu_counts = target.threads() == 1 && !waits;
  return stopwatch(cpu_counts ? clock::thread_cpu : clock::wall, target.clock());
}

}  // namespace layerbench::run
