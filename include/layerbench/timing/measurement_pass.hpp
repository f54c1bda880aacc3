// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sys/resource.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/interrupt.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

namespace detail {

/// Who had the processors since it was made. An involuntary switch is something else taking a
/// processor from a thread.
class processor_watch {
 public:
  explicit processor_watch(int threads) : threads_(threads) {}

  /// Share of the processors' time that the threads got, from 0 to 1.
  [[nodiscard]] double busy() const {
    const double cpu = threads_ == 1 ? own_share() : (now(clock::process_cpu) - all_) / wall();
    return cpu / threads_;
  }

  /// Threads that wait spin, so undisturbed ones keep all processors busy all the time. Work that
  /// the library does on this thread alone does not; then nobody pushes the others, which sleep.
  [[nodiscard]] bool pushed_off() const {
    constexpr double undisturbed = 0.9;
    const bool pushed = others_pushed() > pushed_;
    return own_share() < undisturbed || (threads_ > 1 && pushed && busy() < undisturbed);
  }

 private:
  [[nodiscard]] double wall() const { return now(clock::wall) - start_; }
  [[nodiscard]] double own_share() const { return (now(clock::thread_cpu) - own_) / wall(); }
  [[nodiscard]] static long others_pushed() {
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
  long pushed_ = others_pushed();
};

}  // namespace detail

struct pass_quality {
  double busy = 0;          ///< share of the processors' time that the threads got
  bool pushed_off = false;  ///< something else had processors, so that it was less than all
  bool slowed = false;      ///< the processors never had their usual speed

  [[nodiscard]] bool disturbed() const { return pushed_off || slowed; }
  [[nodiscard]] bool better_than(const pass_quality& other) const {
    return slowed == other.slowed ? busy > other.busy : other.slowed;
  }
};

/// Takes samples of work on so many threads once and fills in `row` what they say. `row.calls`
/// stays 0 when it was interrupted before the first. What is `contended` shares the processors with
/// other work of these ranks, as it is meant to: waiting for them is part of it.
template <class Take>
pass_quality measure_pass(int threads, const stopwatch& watch, Take&& take,
                          result::measurement& row, bool contended = false) {
  const detail::processor_watch processors(threads);
  samples taken = take();
  // A device goes on working while this program has no processor.
  const bool pushed_off = !contended && !watch.of_device() && processors.pushed_off();
  const pass_quality quality{processors.busy(), pushed_off, taken.unusual};
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
  const usual_mean usual = contended ? usual_mean{stats::mean(taken.seconds), 0}
                                     : mean_without_stalls(taken.seconds, taken.calls_a_sample);
  counters["mean_s"] = usual.seconds;
  counters["stalls"] = static_cast<double>(taken.stalls + usual.stalls);
  counters["min_s"] = taken.seconds.front();
  counters["p95_s"] = stats::quantile(taken.seconds, 0.95);
  counters["samples"] = static_cast<double>(taken.seconds.size());
  counters["slowed"] = static_cast<double>(taken.slowed);
  counters["calls_a_sample"] = static_cast<double>(taken.calls_a_sample);
  counters["clock_s"] = watch.cost().seconds;
  counters["cpu_s"] = row.cpu_seconds;
  counters["wall_s"] = taken.wall / calls;
  counters["disturbed"] = quality.disturbed() ? 1 : 0;
  return quality;
}

/// The visits of a chain in one round (at least one) as one row: the median one of those that
/// nothing disturbed, or of all where there is none; of two with their mean time. Visits that
/// differ say that the machine changed within the round.
[[nodiscard]] inline result::measurement merged_passes(std::vector<result::measurement> visits) {
  if (!std::ranges::all_of(visits, &result::measurement::disturbed)) {
    std::erase_if(visits, &result::measurement::disturbed);
  }
  std::ranges::sort(visits, {}, &result::measurement::mean_seconds);
  const result::measurement& lower = visits[(visits.size() - 1) / 2];
  result::measurement row = visits[visits.size() / 2];
  row.seconds = (lower.seconds + row.seconds) / 2;
  row.counters["mean_s"] = (lower.mean_seconds() + row.mean_seconds()) / 2;
  constexpr double much = 0.1;
  const double apart = visits.back().mean_seconds() / visits.front().mean_seconds() - 1;
  row.counters["spread"] = apart;
  if (apart > much) row.counters["disturbed"] = 1;
  return row;
}

}  // namespace layerbench::run
