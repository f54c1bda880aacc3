// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <sys/resource.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/run/interrupt.hpp>
#include <layerbench/run/sampler.hpp>

namespace layerbench::run {

/// What can be timed: makes so many calls ready, runs them to their end.
struct subject {
  int threads;
  std::int64_t most_calls;
  std::function<void(std::int64_t)> ready;
  std::function<void(std::int64_t)> call;
};

namespace detail {

/// How often something else took a processor from one of this process's threads.
[[nodiscard]] inline long involuntary_switches() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_nivcsw;
}

}  // namespace detail

/// Adds the mean of `sorted` without its stalls. Small disturbances are part of every step, and only
/// means of layers add up to the step's; long ones, that few steps meet, are left out and counted.
inline void add_mean(const std::vector<double>& sorted, result::measurement& row) {
  constexpr double stall = 2;  // times the median
  const double limit = stall * stats::quantile(sorted, 0.5);
  const auto usual = std::ranges::upper_bound(sorted, limit);
  row.counters["mean_s"] = stats::mean({sorted.begin(), usual});
  row.counters["stalls"] = static_cast<double>(sorted.end() - usual);
}

/// How much of the processors' time the threads got in a visit, from 0 to 1.
struct visit_quality {
  double busy = 0;
  bool disturbed = false;
};

/// Times `what` once and fills in `row` what timing says. `row.calls` stays 0 when it was
/// interrupted before the first sample.
inline visit_quality visit(const subject& what, stopwatch& watch, sampling how,
                           result::measurement& row) {
  how.most_calls = what.most_calls;
  const long switches = detail::involuntary_switches();
  samples taken = sample(watch, what.ready, what.call, how, &interrupt_guard::interrupted);
  if (taken.seconds.empty()) return {};
  std::ranges::sort(taken.seconds);
  const auto calls = static_cast<double>(taken.calls);
  row.seconds = stats::quantile(taken.seconds, 0.5);
  row.calls = taken.calls;
  row.cpu_seconds = taken.cpu / calls;
  auto& counters = row.counters;
  if (const auto range = stats::median_interval(taken.seconds)) {
    counters["low_s"] = range->low;
    counters["high_s"] = range->high;
  }
  add_mean(taken.seconds, row);
  counters["min_s"] = taken.seconds.front();
  counters["p95_s"] = stats::quantile(taken.seconds, 0.95);
  counters["samples"] = static_cast<double>(taken.seconds.size());
  counters["calls_a_sample"] = static_cast<double>(taken.calls_a_sample);
  counters["clock_s"] = watch.cost();
  counters["cpu_s"] = row.cpu_seconds;
  counters["wall_s"] = taken.wall / calls;
  // Threads that wait spin, so undisturbed ones keep all processors busy all the time. Work that
  // the library does on fewer threads does not; then nobody was pushed off a processor either.
  constexpr double undisturbed = 0.9;
  const double busy = taken.cpu / taken.wall / what.threads;
  const bool pushed = what.threads == 1 || detail::involuntary_switches() > switches;
  const bool disturbed = busy < undisturbed && pushed;
  counters["disturbed"] = disturbed ? 1 : 0;
  return {busy, disturbed};
}

}  // namespace layerbench::run
