// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <sys/resource.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

namespace detail {

/// Detects whether other programs took processors from this one since it was made.
class preemption_watch {
 public:
  explicit preemption_watch(int threads) : threads_(threads) {}

  /// Share of the processors' time that the threads got, from 0 to 1.
  [[nodiscard]] double busy() const {
    const double cpu = threads_ == 1 ? own_share() : (now(clock::process_cpu) - all_) / wall();
    return cpu / threads_;
  }

  /// Waiting threads spin, so undisturbed threads are busy all the time. The exception is work that
  /// the library does on this thread alone, while the other threads sleep; then they have no
  /// involuntary context switches.
  [[nodiscard]] bool preempted() const {
    constexpr double undisturbed = 0.9;
    const bool switched = other_threads_switches() > switches_;
    return own_share() < undisturbed || (threads_ > 1 && switched && busy() < undisturbed);
  }

 private:
  [[nodiscard]] double wall() const { return now(clock::wall) - start_; }
  [[nodiscard]] double own_share() const { return (now(clock::thread_cpu) - own_) / wall(); }
  /// Involuntary context switches of all threads but this one.
  [[nodiscard]] static long other_threads_switches() {
    rusage all{};
    rusage own{};
    ::getrusage(RUSAGE_SELF, &all);
    ::getrusage(RUSAGE_THREAD, &own);
    return all.ru_nivcsw - own.ru_nivcsw;
  }

  int threads_;
  double start_ = now(clock::wall);
  double own_ = now(clock::thread_cpu);
  double all_ = now(clock::process_cpu);
  long switches_ = other_threads_switches();
};

}  // namespace detail

/// How undisturbed a measurement pass was.
struct pass_quality {
  double busy = 0;         ///< share of the processors' time that the threads got
  bool preempted = false;  ///< other programs took processors
  bool slowed = false;     ///< the processors never ran at their usual speed

  [[nodiscard]] bool disturbed() const { return preempted || slowed; }
  [[nodiscard]] bool better_than(const pass_quality& other) const {
    return slowed == other.slowed ? busy > other.busy : other.slowed;
  }
};

/// Whether it is worth repeating a preempted pass. Where other programs always use the processors,
/// the repetition is preempted, too, and takes as long again.
class retry_benefit {
 public:
  /// Whether to repeat a pass. Where it hardly ever helped, one in ten is repeated.
  [[nodiscard]] bool is_likely() {
    constexpr double rare = 0.2;
    constexpr int one_in = 10;
    return helped_ > rare || ++not_likely_ % one_in == 0;
  }
  /// Notes whether repetitions led to a pass that was not preempted. The last ten count most.
  void note(bool helped) { helped_ += 0.1 * ((helped ? 1 : 0) - helped_); }

 private:
  double helped_ = 1;  ///< share of the passes, newer ones weighing more
  int not_likely_ = 0;
};

/// Takes samples once, of work on `threads` threads, and writes their statistics to `row`.
/// `row.calls` stays 0 after an interrupt before the first sample. `contended` work shares the
/// processors with other work of the same ranks on purpose, so waiting is no disturbance and no
/// stall.
template <class Take>
pass_quality measure_pass(int threads, const stopwatch& watch, Take&& take,
                          result::measurement& row, bool contended = false) {
  const detail::preemption_watch processors(threads);
  samples taken = take();
  // A device keeps working while this program has no processor.
  const bool preempted = !contended && !watch.uses_device_clock() && processors.preempted();
  const pass_quality quality{processors.busy(), preempted, taken.all_slowed};
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
  const stall_free_mean mean = contended
                                   ? stall_free_mean{stats::mean(taken.seconds), 0}
                                   : mean_without_stalls(taken.seconds, taken.calls_per_sample);
  counters["mean_s"] = mean.seconds;
  counters["stalls"] = static_cast<double>(taken.stalls + mean.stalls);
  counters["min_s"] = taken.seconds.front();
  counters["p95_s"] = stats::quantile(taken.seconds, 0.95);
  counters["p99_s"] = stats::quantile(taken.seconds, 0.99);
  counters["samples"] = static_cast<double>(taken.seconds.size());
  counters["slowed"] = static_cast<double>(taken.slowed);
  counters["all_slowed"] = taken.all_slowed ? 1 : 0;
  counters["calls_a_sample"] = static_cast<double>(taken.calls_per_sample);
  counters["clock_s"] = watch.cost().seconds;
  counters["cpu_s"] = row.cpu_seconds;
  counters["wall_s"] = taken.wall / calls;
  counters["disturbed"] = quality.disturbed() ? 1 : 0;
  return quality;
}

/// The passes of one round (at least one) as one row: the median pass of the undisturbed ones, else
/// of those that were not slowed, else of all; with the mean of the two middle ones where their
/// number is even. Passes that differ much mark the row as disturbed, since the machine changed
/// within the round.
[[nodiscard]] inline result::measurement merged_passes(std::vector<result::measurement> passes) {
  for (const auto marked : {&result::measurement::slowed, &result::measurement::disturbed}) {
    if (!std::ranges::all_of(passes, marked)) std::erase_if(passes, std::mem_fn(marked));
  }
  std::ranges::sort(passes, {}, &result::measurement::mean_seconds);
  const result::measurement& lower = passes[(passes.size() - 1) / 2];
  result::measurement row = passes[passes.size() / 2];
  row.seconds = (lower.seconds + row.seconds) / 2;
  row.counters["mean_s"] = (lower.mean_seconds() + row.mean_seconds()) / 2;
  constexpr double large_spread = 0.1;
  const double spread = passes.back().mean_seconds() / passes.front().mean_seconds() - 1;
  row.counters["spread"] = spread;
  if (spread > large_spread) row.counters["disturbed"] = 1;
  return row;
}

}  // namespace layerbench::run
