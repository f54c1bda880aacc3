// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace layerbench::run {

/// How a round of one case is sampled.
struct sampling {
  double clock_cost = 0;     ///< seconds a clock reading takes
  double warm_up = 0.002;    ///< untimed calls go on for this long, one at the least
  double least_time = 0.04;  ///< timed calls go on for this long, one sample at the least
};

struct samples {
  std::vector<double> seconds;  ///< time of one call, each from one pair of clock readings
  std::int64_t calls = 0;       ///< timed calls in all
};

namespace detail {

/// Calls between two clock readings: so many that the clock costs under 0.1 % and that a round
/// has no more than a thousand samples.
[[nodiscard]] inline std::int64_t calls_a_sample(double call_seconds, const sampling& how) {
  constexpr double clock_share = 0.001;
  constexpr double most_samples = 1000;
  const double least = std::max(how.clock_cost / clock_share, how.least_time / most_samples);
  return std::max<std::int64_t>(1, std::llround(std::ceil(least / call_seconds)));
}

}  // namespace detail

/// Samples `call(n)`, which runs the work n times and waits for it, by the clock `now`. Ends after
/// the running call, perhaps without any sample, when `stop` says so.
template <class Clock, class Call>
[[nodiscard]] samples sample(
    Clock&& now, Call&& call, const sampling& how, bool (*stop)() = [] { return false; }) {
  std::int64_t batch = 1;
  double call_seconds = 0;
  const double start = now();
  double end = start;
  do {  // Doubling batches, so that a call shorter than the clock's own cost is not misjudged.
    const double before = now();
    call(batch);
    end = now();
    call_seconds = std::max(end - before - how.clock_cost, 1e-10) / static_cast<double>(batch);
    batch *= 2;
  } while (end - start < how.warm_up && !stop());

  const std::int64_t calls = detail::calls_a_sample(call_seconds, how);
  samples taken;
  double timed = 0;
  while (timed < how.least_time || taken.seconds.empty()) {
    if (stop()) break;
    const double before = now();
    call(calls);
    const double seconds = now() - before - how.clock_cost;
    taken.seconds.push_back(std::max(seconds, 0.0) / static_cast<double>(calls));
    taken.calls += calls;
    timed += seconds;
  }
  return taken;
}

}  // namespace layerbench::run
