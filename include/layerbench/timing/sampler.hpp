// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// How a round of one row is sampled.
struct sampling {
  double warm_up = 0.002;         ///< calls that do not count go on for this long; 0: none
  double least_time = 0.007;      ///< calls that count go on for this long
  double most_time = 0.03;        ///< but end here, what makes them ready included
  std::size_t least_samples = 2;  ///< if there are so many, unless fewer last longer than that
  std::int64_t most_calls = INT64_MAX;  ///< that can be made ready at once
};

struct samples {
  std::vector<double> seconds;  ///< time of one call, each from one lap of the stopwatch
  std::int64_t calls = 0;       ///< in all laps
  std::int64_t calls_a_sample = 0;
  double timed = 0;  ///< seconds of all laps
  double wall = 0;
  double cpu = 0;
  std::size_t slowed = 0;     ///< how many were taken while the processors were slower than usual
  std::ptrdiff_t stalls = 0;  ///< left out of them
  bool unusual = false;       ///< these are such ones; else they are without them

  /// `each` is without the clock's cost.
  void add(const lap& item) {
    seconds.push_back(item.seconds / static_cast<double>(calls_a_sample));
    calls += calls_a_sample;
    timed += item.seconds;
    wall += item.wall;
    cpu += item.cpu;
  }
  void append(const samples& others) {
    seconds.insert(seconds.end(), others.seconds.begin(), others.seconds.end());
    calls += others.calls;
    timed += others.timed;
    wall += others.wall;
    cpu += others.cpu;
  }
};

/// What is longer than this among `sorted` seconds of a call, means of samples of so many calls, is
/// a stall: the sample was more than half a millisecond, and more than its median, too long. Small
/// disturbances are part of every step, and only means of layers add up to the step's; stalls, that
/// few steps meet, are left out. But only where they are rare: what is slow in more than a tenth of
/// the calls is so in every step.
struct stall_limit {
  double seconds;         ///< infinite where none is left out
  std::ptrdiff_t stalls;  ///< how many there are, left out or not

  explicit stall_limit(const std::vector<double>& sorted, std::int64_t calls_a_sample = 1) {
    constexpr double least_stall = 0.0005;  // seconds
    const double median = stats::quantile(sorted, 0.5);
    seconds = median + std::max(median, least_stall / static_cast<double>(calls_a_sample));
    stalls = sorted.end() - std::ranges::upper_bound(sorted, seconds);
    if (!stats::is_rare(stalls, sorted.size())) seconds = HUGE_VAL;
  }
};

struct usual_mean {
  double seconds;
  std::ptrdiff_t stalls;
};

[[nodiscard]] inline usual_mean mean_without_stalls(const std::vector<double>& sorted,
                                                    std::int64_t calls_a_sample = 1) {
  const stall_limit limit(sorted, calls_a_sample);
  return {stats::mean({sorted.begin(), std::ranges::upper_bound(sorted, limit.seconds)}),
          limit.stalls};
}

/// Processors whose speed nobody looks at.
struct any_speed {
  static constexpr double interval = 0;  ///< seconds between two looks
  static constexpr bool at_usual_speed() { return true; }
  static constexpr bool wait() { return true; }
};

/// Looks at the speed at both ends of stretches of work, one after the other.
template <class Speed>
class stretch_watch {
 public:
  explicit stretch_watch(Speed& speed) : speed_(speed) {}

  /// Begins a stretch: at the usual speed, if waiting brings it.
  void begin() {
    if (!at_usual_speed_) at_usual_speed_ = speed_.wait();
  }
  /// Ends it. Returns whether the speed was usual at both ends.
  [[nodiscard]] bool end() {
    const bool before = std::exchange(at_usual_speed_, speed_.at_usual_speed());
    return before && at_usual_speed_;
  }

 private:
  Speed& speed_;
  bool at_usual_speed_ = false;
};

/// What was measured at the usual speed, and what was not.
template <class T>
struct by_speed {
  T at_usual_speed = {};
  T slowed = {};

  [[nodiscard]] T& at(bool speed_usual) { return speed_usual ? at_usual_speed : slowed; }
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

/// Samples `call(n)`, which runs the work n times and waits for it (or `watch` does), with `watch`;
/// `ready(n)` comes before each and is not timed. Ends after the running call, perhaps without any
/// sample, when `stop` says so. Samples before and after which `speed` was not usual count only
/// where there are no others.
template <class Stopwatch, class Ready, class Call, class Speed = any_speed>
[[nodiscard]] samples sample(
    Stopwatch& watch, Ready&& ready, Call&& call, const sampling& how,
    bool (*stop)() = [] { return false; }, Speed&& speed = {}) {
  const auto lap_of = [&](std::int64_t calls) {
    ready(calls);
    watch.start();
    call(calls);
    return watch.stop();
  };
  std::int64_t batch = 1;
  double call_seconds = HUGE_VAL;  // the least seen: a stall must not make batches small
  double start = watch.now();
  // Doubling batches, so that a call shorter than the clock's own cost is not misjudged; one batch
  // at least.
  for (bool warm = how.warm_up <= 0; !warm;) {
    const double seconds = std::max(lap_of(batch).seconds - watch.cost().seconds, 1e-10);
    call_seconds = std::min(call_seconds, seconds / static_cast<double>(batch));
    batch = std::min(batch > INT64_MAX / 2 ? batch : 2 * batch, how.most_calls);
    warm = watch.now() - start >= how.warm_up || stop();
  }

  samples none;
  none.calls_a_sample = detail::calls_a_sample(call_seconds, watch.cost().seconds, how);
  by_speed<samples> taken{none, none};
  double sampling_time = 0;  // without waiting
  const auto some = [&](std::size_t all) { return all >= how.least_samples; };
  const auto enough_of = [&](const samples& these) {
    return these.timed > how.most_time ||
           (some(these.seconds.size()) && these.timed >= how.least_time);
  };
  const auto enough = [&] {
    return enough_of(taken.at_usual_speed) ||
           (some(taken.at_usual_speed.seconds.size() + taken.slowed.seconds.size()) &&
            sampling_time >= how.most_time);
  };
  stretch_watch look(speed);
  while (!stop() && !enough()) {
    look.begin();
    samples stretch = none;
    start = watch.now();
    do {
      stretch.add(lap_of(none.calls_a_sample).without(watch.cost()));
    } while (watch.now() - start < speed.interval && !enough_of(stretch) && !stop());
    sampling_time += watch.now() - start;
    taken.at(look.end()).append(stretch);
  }
  taken.at_usual_speed.slowed = taken.slowed.slowed = taken.slowed.seconds.size();
  taken.slowed.unusual = true;
  return taken.at(!taken.at_usual_speed.seconds.empty());
}

}  // namespace layerbench::run
