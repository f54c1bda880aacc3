// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/run/clock.hpp>

namespace layerbench::run {

/// How a round of one row is sampled.
struct sampling {
  double warm_up = 0.002;         ///< calls that do not count go on for this long, one at least
  double least_time = 0.007;      ///< calls that count go on for this long
  double most_time = 0.03;        ///< but end here, what makes them ready included
  std::size_t least_samples = 2;  ///< if there are so many
  std::int64_t most_calls = INT64_MAX;  ///< that can be made ready at once
};

struct samples {
  std::vector<double> seconds;  ///< time of one call, each from one lap of the stopwatch
  std::int64_t calls = 0;       ///< in all laps
  std::int64_t calls_a_sample = 0;
  double wall = 0;  ///< of all laps
  double cpu = 0;
};

namespace detail {

/// Calls in a lap: so many that the clock costs under 0.1 % and that a round has no more than a
/// thousand samples, as far as so many can be made ready.
[[nodiscard]] inline std::int64_t calls_a_sample(double call_seconds, double clock_cost,
                                                 const sampling& how) {
  constexpr double clock_share = 0.001;
  constexpr double most_samples = 1000;
  const double least = std::max(clock_cost / clock_share, how.least_time / most_samples);
  const double calls = std::ceil(least / call_seconds);
  return calls >= static_cast<double>(how.most_calls)
             ? how.most_calls
             : std::max<std::int64_t>(1, static_cast<std::int64_t>(calls));
}

}  // namespace detail

/// Samples `call(n)`, which runs the work n times and waits for it, with `watch`; `ready(n)` comes
/// before each and is not timed. Ends after the running call, perhaps without any sample, when
/// `stop` says so.
template <class Stopwatch, class Ready, class Call>
[[nodiscard]] samples sample(
    Stopwatch& watch, Ready&& ready, Call&& call, const sampling& how,
    bool (*stop)() = [] { return false; }) {
  const auto lap_of = [&](std::int64_t calls) {
    ready(calls);
    watch.start();
    call(calls);
    return watch.stop();
  };
  std::int64_t batch = 1;
  double call_seconds = HUGE_VAL;  // the least seen: a stall must not make batches small
  double start = watch.now();
  do {  // Doubling batches, so that a call shorter than the clock's own cost is not misjudged.
    const double seconds = std::max(lap_of(batch).seconds - watch.cost().seconds, 1e-10);
    call_seconds = std::min(call_seconds, seconds / static_cast<double>(batch));
    batch = std::min(batch > INT64_MAX / 2 ? batch : 2 * batch, how.most_calls);
  } while (watch.now() - start < how.warm_up && !stop());

  samples taken;
  taken.calls_a_sample = detail::calls_a_sample(call_seconds, watch.cost().seconds, how);
  double timed = 0;
  start = watch.now();
  while (!stop()) {
    const bool some = taken.seconds.size() >= how.least_samples;
    if (some && (timed >= how.least_time || watch.now() - start >= how.most_time)) break;
    const lap each = lap_of(taken.calls_a_sample);
    const double seconds = each.seconds - watch.cost().seconds;
    taken.seconds.push_back(std::max(seconds, 0.0) / static_cast<double>(taken.calls_a_sample));
    taken.calls += taken.calls_a_sample;
    taken.wall += std::max(each.wall - watch.cost().wall, 0.0);
    taken.cpu += std::max(each.cpu - watch.cost().cpu, 0.0);
    timed += seconds;
  }
  return taken;
}

}  // namespace layerbench::run
