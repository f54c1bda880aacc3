// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace layerbench::run {

/// How a round of one row is sampled.
struct sampling {
  double clock_cost = 0;     ///< seconds a clock reading takes
  double warm_up = 0.002;    ///< untimed calls go on for this long, one at the least
  double least_time = 0.04;  ///< timed calls go on for this long, one sample at the least
  std::int64_t most_calls = INT64_MAX;  ///< that can be made ready at once
  double most_overhead = 3;  ///< untimed work ends a round when it takes this many times least_time
};

struct samples {
  std::vector<double> seconds;  ///< time of one call, each from one pair of clock readings
  std::int64_t calls = 0;       ///< timed calls in all
};

namespace detail {

/// Calls between two clock readings: so many that the clock costs under 0.1 % and that a round
/// has no more than a thousand samples, as far as so many can be made ready.
[[nodiscard]] inline std::int64_t calls_a_sample(double call_seconds, const sampling& how) {
  constexpr double clock_share = 0.001;
  constexpr double most_samples = 1000;
  const double least = std::max(how.clock_cost / clock_share, how.least_time / most_samples);
  return std::clamp<std::int64_t>(std::llround(std::ceil(least / call_seconds)), 1, how.most_calls);
}

}  // namespace detail

/// Samples `call(n)`, which runs the work n times and waits for it, by the clock `now`;
/// `ready(n)` comes before it and is not timed. Ends after the running call, perhaps without any
/// sample, when `stop` says so.
template <class Clock, class Ready, class Call>
[[nodiscard]] samples sample(
    Clock&& now, Ready&& ready, Call&& call, const sampling& how,
    bool (*stop)() = [] { return false; }) {
  std::int64_t batch = 1;
  double call_seconds = 0;
  const double start = now();
  double end = start;
  do {  // Doubling batches, so that a call shorter than the clock's own cost is not misjudged.
    ready(batch);
    const double before = now();
    call(batch);
    end = now();
    call_seconds = std::max(end - before - how.clock_cost, 1e-10) / static_cast<double>(batch);
    batch = std::min(2 * batch, how.most_calls);
  } while (end - start < how.warm_up && !stop());

  const std::int64_t calls = detail::calls_a_sample(call_seconds, how);
  constexpr std::size_t few_samples = 5;
  samples taken;
  double timed = 0;
  while (timed < how.least_time || taken.seconds.empty()) {
    if (stop()) break;
    const bool long_enough = end - start > (1 + how.most_overhead) * how.least_time;
    if (long_enough && taken.seconds.size() >= few_samples) break;
    ready(calls);
    const double before = now();
    call(calls);
    end = now();
    const double seconds = end - before - how.clock_cost;
    taken.seconds.push_back(std::max(seconds, 0.0) / static_cast<double>(calls));
    taken.calls += calls;
    timed += seconds;
  }
  return taken;
}

}  // namespace layerbench::run
