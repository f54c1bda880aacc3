// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/stream_latency.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// How the steps of a stream vary: how much longer than usual its calls take for as long as a step
/// lasts, and how its thread waits for a processor. Adds both to rows, as counters of all that was
/// seen so far (result/stream_latency.hpp).
class latency_watch {
 public:
  /// Adds the calls of a pass of a row, in the order of time. `laps`: seconds of one call in each
  /// lap of `calls` calls; `usual`: the mean over the rounds; `step`: seconds of a step, or 0 while
  /// that is not known; `share`: the row's part of a step, in any unit.
  void add_calls(const std::vector<double>& laps, double calls, double usual, double step,
                 double share) {
    if (!(step > 0) || laps.empty()) return;
    std::vector<double> slowness;
    double seconds = 0;
    double count = 0;
    for (const double lap : laps) {
      seconds += calls * lap;
      count += calls;
      if (seconds < step) continue;
      slowness.push_back(seconds / (count * usual));
      seconds = count = 0;
    }
    if (slowness.empty()) slowness.push_back(seconds / (count * usual));
    for (const double one : slowness) {
      slowness_.emplace_back(one, share / static_cast<double>(slowness.size()));
    }
  }

  /// Watches for a fifth of a second of work how often and how long this thread waits for a
  /// processor.
  void watch_waits() {
    constexpr double watched = 0.2;      // seconds
    constexpr double least_wait = 1e-4;  // seconds; interrupts are shorter
    const double begin = stopwatch::now();
    double latest = begin;
    while (latest - begin < watched) {
      const double time = stopwatch::now();
      if (time - latest > least_wait) {
        ++waits_;
        waited_ += time - latest;
      }
      latest = time;
    }
    watched_ += latest - begin;
  }

  /// Adds steps of a chain.
  void add_steps(const std::vector<double>& seconds) {
    steps_.insert(steps_.end(), seconds.begin(), seconds.end());
  }

  void add_to_row(result::measurement& row) const {
    row.counters["waits"] = waits_;
    row.counters["waited_s"] = waited_;
    row.counters["watched_s"] = watched_;
    if (slowness_.empty()) return;
    std::vector<std::pair<double, double>> sorted = slowness_;
    std::ranges::sort(sorted);
    double all = 0;
    for (const auto& one : sorted) all += one.second;
    double below = 0;
    std::size_t next = 0;
    for (const auto& [value, weight] : sorted) {
      below += weight;
      while (next < result::latency_quantiles.size() &&
             below >= result::latency_quantiles.at(next).share * all) {
        row.counters["slow_" + std::string(result::latency_quantiles.at(next++).name)] = value;
      }
    }
  }

  void add_to_chain(result::measurement& chain) const {
    std::vector<double> sorted = steps_;
    std::ranges::sort(sorted);
    for (const auto& [share, name] : result::latency_quantiles) {
      chain.counters["latency_" + std::string(name) + "_s"] = stats::quantile(sorted, share);
    }
    chain.counters["latencies"] = static_cast<double>(sorted.size());
  }

 private:
  std::vector<std::pair<double, double>> slowness_;  ///< relative to the mean, and its weight
  std::vector<double> steps_;
  double waits_ = 0;
  double waited_ = 0;
  double watched_ = 0;
};

}  // namespace layerbench::run
