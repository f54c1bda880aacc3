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

/// Limits of one round of sampling.
struct sampling {
  double warm_up = 0.002;               ///< seconds of warm-up; 0: no warm-up
  double least_time = 0.007;            ///< seconds of timed calls to reach
  double most_time = 0.03;              ///< seconds, set-up included, after which sampling ends
  std::size_t least_samples = 2;        ///< to reach, unless fewer last longer than `most_time`
  std::int64_t most_calls = INT64_MAX;  ///< per set-up
};

/// Samples of one call. Each is the mean of the calls in one lap of the stopwatch.
struct samples {
  std::vector<double> seconds;
  std::int64_t calls = 0;  ///< in all laps
  std::int64_t calls_per_sample = 0;
  double timed = 0;  ///< seconds of all laps
  double wall = 0;
  double cpu = 0;
  std::size_t slowed = 0;     ///< samples taken while the processors ran slower than usual
  std::ptrdiff_t stalls = 0;  ///< samples left out as stalls
  bool all_slowed = false;    ///< whether `seconds` has the slowed samples; else they are left out

  /// Adds a lap, from which the clock's cost was subtracted.
  void add(const lap& timed_lap) {
    seconds.push_back(timed_lap.seconds / static_cast<double>(calls_per_sample));
    calls += calls_per_sample;
    timed += timed_lap.seconds;
    wall += timed_lap.wall;
    cpu += timed_lap.cpu;
  }
  void append(const samples& others) {
    seconds.insert(seconds.end(), others.seconds.begin(), others.seconds.end());
    calls += others.calls;
    timed += others.timed;
    wall += others.wall;
    cpu += others.cpu;
  }
};

/// The time of a call above which a sample is a stall: the sample then exceeds the median sample by
/// more than half a millisecond and by more than the median. Means leave out stalls, which few
/// steps meet, but no smaller disturbances: every step has those, and only means of layers add up
/// to the mean of a step. Stalls in more than a tenth of the calls count, since every step meets
/// them.
struct stall_limit {
  double seconds;         ///< infinite where no sample is left out
  std::ptrdiff_t stalls;  ///< their number, left out or not

  explicit stall_limit(const std::vector<double>& sorted, std::int64_t calls_per_sample = 1) {
    constexpr double least_stall = 0.0005;  // seconds
    const double median = stats::quantile(sorted, 0.5);
    seconds = median + std::max(median, least_stall / static_cast<double>(calls_per_sample));
    stalls = sorted.end() - std::ranges::upper_bound(sorted, seconds);
    if (!stats::is_rare(stalls, sorted.size())) seconds = HUGE_VAL;
  }
};

struct stall_free_mean {
  double seconds;
  std::ptrdiff_t stalls;
};

[[nodiscard]] inline stall_free_mean mean_without_stalls(const std::vector<double>& sorted,
                                                         std::int64_t calls_per_sample = 1) {
  const stall_limit limit(sorted, calls_per_sample);
  return {stats::mean({sorted.begin(), std::ranges::upper_bound(sorted, limit.seconds)}),
          limit.stalls};
}

/// Stands for a frequency_probe where the processors' speed does not matter.
struct no_frequency_probe {
  static constexpr double interval = 0;  ///< seconds between two readings
  static constexpr bool at_usual_speed() { return true; }
  static constexpr bool wait() { return true; }
};

/// Reads the processors' speed at the begin and the end of each interval of work.
template <class Speed>
class speed_monitor {
 public:
  explicit speed_monitor(Speed& speed) : speed_(speed) {}

  /// Begins an interval. Waits for the usual speed first, as long as the probe allows.
  void begin() {
    if (!at_usual_speed_) at_usual_speed_ = speed_.wait();
  }
  /// Ends the interval. Returns whether the speed was usual at both ends.
  [[nodiscard]] bool end() {
    const bool before = std::exchange(at_usual_speed_, speed_.at_usual_speed());
    return before && at_usual_speed_;
  }

 private:
  Speed& speed_;
  bool at_usual_speed_ = false;
};

/// Measurements at the usual speed of the processors, and at a lower one.
template <class T>
struct split_by_speed {
  T at_usual_speed = {};
  T slowed = {};

  [[nodiscard]] T& at(bool usual) { return usual ? at_usual_speed : slowed; }
};

namespace detail {

/// The number of calls in a lap: large enough that the clock costs under 0.1 % and that a round has
/// at most a thousand samples, but at most `how.most_calls`.
[[nodiscard]] inline std::int64_t calls_per_sample(double call_seconds, double clock_cost,
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

/// Times `call(n)`, behind an untimed `set_up(n)`.
template <class Stopwatch, class SetUp, class Call>
[[nodiscard]] lap lap_of(Stopwatch& watch, SetUp&& set_up, Call&& call, std::int64_t n) {
  set_up(n);
  watch.start();
  call(n);
  return watch.stop();
}

/// Warms up as `how` asks, or until `stop` returns true. Returns how many calls a sample should
/// have. The arguments are those of sample().
template <class Stopwatch, class SetUp, class Call>
[[nodiscard]] std::int64_t calls_per_sample_after_warm_up(
    Stopwatch& watch, SetUp&& set_up, Call&& call, const sampling& how,
    bool (*stop)() = [] { return false; }) {
  std::int64_t batch = 1;
  double call_seconds = HUGE_VAL;  // the minimum, so that a stall does not make batches small
  const double start = watch.now();
  // Each batch is twice as large, so that calls shorter than the clock's cost are timed well. At
  // least one batch runs.
  for (bool warm = how.warm_up <= 0; !warm;) {
    const lap timed = lap_of(watch, set_up, call, batch);
    const double seconds = std::max(timed.seconds - watch.cost().seconds, 1e-10);
    call_seconds = std::min(call_seconds, seconds / static_cast<double>(batch));
    batch = std::min(batch > INT64_MAX / 2 ? batch : 2 * batch, how.most_calls);
    warm = watch.now() - start >= how.warm_up || stop();
  }
  return detail::calls_per_sample(call_seconds, watch.cost().seconds, how);
}

/// Times `call(n)`, which runs the work n times and waits for it (or `watch` waits). `set_up(n)`
/// runs before each and is not timed. Where `stop` returns true, ends after the current call,
/// perhaps without a sample. Samples that began or ended at a lower speed than usual count only
/// where there are no others.
template <class Stopwatch, class SetUp, class Call, class Speed = no_frequency_probe>
[[nodiscard]] samples sample(
    Stopwatch& watch, SetUp&& set_up, Call&& call, const sampling& how,
    bool (*stop)() = [] { return false; }, Speed&& speed = {}) {
  samples none;
  none.calls_per_sample = calls_per_sample_after_warm_up(watch, set_up, call, how, stop);
  split_by_speed<samples> taken{none, none};
  double sampling_time = 0;  // without the waits for the usual speed
  const auto suffice = [&](std::size_t count) { return count >= how.least_samples; };
  const auto enough_of = [&](const samples& these) {
    return these.timed > how.most_time ||
           (suffice(these.seconds.size()) && these.timed >= how.least_time);
  };
  const auto enough = [&] {
    return enough_of(taken.at_usual_speed) ||
           (suffice(taken.at_usual_speed.seconds.size() + taken.slowed.seconds.size()) &&
            sampling_time >= how.most_time);
  };
  speed_monitor monitor(speed);
  while (!stop() && !enough()) {
    monitor.begin();
    samples interval = none;
    const double start = watch.now();
    do {
      const lap timed = lap_of(watch, set_up, call, none.calls_per_sample);
      interval.add(timed.without(watch.cost()));
    } while (watch.now() - start < speed.interval && !enough_of(interval) && !stop());
    sampling_time += watch.now() - start;
    taken.at(monitor.end()).append(interval);
  }
  taken.at_usual_speed.slowed = taken.slowed.slowed = taken.slowed.seconds.size();
  taken.slowed.all_slowed = true;
  return taken.at(!taken.at_usual_speed.seconds.empty());
}

}  // namespace layerbench::run
