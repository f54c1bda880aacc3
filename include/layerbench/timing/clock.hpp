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

/// Seconds since some fixed point.
[[nodiscard]] inline double now(clock which) {
  constexpr std::array<clockid_t, 3> ids{CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                         CLOCK_PROCESS_CPUTIME_ID};
  timespec t{};
  ::clock_gettime(ids.at(static_cast<std::size_t>(which)), &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// What passed between start() and stop() of a stopwatch.
struct lap {
  double seconds;  ///< by the clock that counts
  double wall;
  double cpu;  ///< of all threads

  /// Without what the stopwatch itself takes. Work that is lost in that took no less than the
  /// nanosecond that clocks count in.
  [[nodiscard]] lap without(const lap& clock) const {
    return {std::max(seconds - clock.seconds, 1e-9), std::max(wall - clock.wall, 0.0),
            std::max(cpu - clock.cpu, 0.0)};
  }
};

/// Times work of so many threads. CPU time is what counts for one, since waiting for a processor
/// does not lengthen it; the wall clock for several; a device's own clock where it has one.
class stopwatch {
 public:
  explicit stopwatch(int threads, device_clock* own = nullptr) : one_(threads == 1), own_(own) {
    std::vector<lap> laps;
    for (int i = 0; i < 201; ++i) {
      start();
      laps.push_back(stop());
    }
    const auto median = [&](double lap::* clock) {
      std::vector<double> values;
      for (const lap& item : laps) values.push_back(item.*clock);
      return stats::median(std::move(values));
    };
    cost_ = {median(&lap::seconds), median(&lap::wall), median(&lap::cpu)};
  }

  /// What passes between a start() and a stop() with nothing between them.
  [[nodiscard]] const lap& cost() const { return cost_; }

  // The clock that counts is read last and first, so that the others do not count.
  void start() {
    if (one_) {
      wall_ = run::now(clock::wall);
      cpu_ = run::now(clock::thread_cpu);
    } else {
      cpu_ = run::now(clock::process_cpu);
      wall_ = run::now(clock::wall);
    }
    if (own_ != nullptr) own_->start();
  }
  [[nodiscard]] lap stop() const {
    if (own_ != nullptr) {
      const double seconds = own_->stop();
      return {seconds, run::now(clock::wall) - wall_,
              run::now(one_ ? clock::thread_cpu : clock::process_cpu) - cpu_};
    }
    if (one_) {
      const double cpu = run::now(clock::thread_cpu) - cpu_;
      return {cpu, run::now(clock::wall) - wall_, cpu};
    }
    const double wall = run::now(clock::wall) - wall_;
    return {wall, wall, run::now(clock::process_cpu) - cpu_};
  }

  /// Whether a device's own clock is what counts.
  [[nodiscard]] bool of_device() const { return own_ != nullptr; }

  /// Wall time, for limits.
  [[nodiscard]] static double now() { return run::now(clock::wall); }

 private:
  bool one_;
  device_clock* own_;
  lap cost_{};
  double wall_ = 0;
  double cpu_ = 0;
};

/// The clock that counts of a device's work.
[[nodiscard]] inline stopwatch stopwatch_of(compute_device& target) {
  const bool waits = target.waits() || target.timing() == timing_mode::single;
  const bool cpu_counts = target.threads() == 1 && !waits;
  return stopwatch(cpu_counts ? 1 : 2, target.clock());
}

}  // namespace layerbench::run
