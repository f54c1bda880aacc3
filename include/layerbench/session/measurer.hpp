// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <layerbench/machine/core_latency.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/recorded_calls.hpp>
#include <layerbench/session/step_sampler.hpp>
#include <layerbench/session/work_queue.hpp>
#include <layerbench/timing/measurement_pass.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

/// Takes the samples of a round: of rows, of chains, and of the clocks inside them.
class measurer {
 public:
  /// `what` must outlive this; `speed` makes what says how fast a device's processors are.
  measurer(const work_queue& what, probe_maker speed)
      : work_queue_(what), speed_(std::move(speed)) {}

  /// A round's timing of a row; without calls when it was interrupted before the first.
  [[nodiscard]] result::measurement time_row(const measured_configuration& configuration,
                                             const measured_row& row) {
    benchmark_case& what = *row.what;
    what.activate();
    what.set_step_seconds(work_queue_.step_seconds(configuration));
    const sampling how = sampled_for(configuration, row);
    warm_up_once(what.device(), [&] {
      const std::int64_t some = std::min<std::int64_t>(how.most_calls, 64);
      what.set_up(some);
      what.call(some);
    });
    const auto sampled = [&](stopwatch& watch, auto&& speed) {
      what.warm_shared_cache(how.warm_up > 0);
      return sample(
          watch, [&](std::int64_t n) { what.set_up(n); }, [&](std::int64_t n) { what.call(n); },
          how, &interrupt_guard::interrupted, speed);
    };
    result::measurement timed;
    if (what.contended()) {
      timed = overlapped_pass(what.threads(), [&] {
        return what.run_overlapped([&] { return sampled(wall_, no_frequency_probe{}); });
      });
      add_allreduce_times(what.allreduce_seconds(), timed);
    } else if (what.device().timing() == timing_mode::graph) {
      timed = recorded_pass(configuration, what, how);
    } else {
      stopwatch& watch = watch_of(what.device(), what.is_shared());
      timed = best_pass(what.device(), watch,
                        [&] { return sampled(watch, speed_of(what.device(), configuration)); });
    }
    timed.name = what.name();
    timed.label = {what.what().op.key(), what.plan().algorithm(), what.what().signature,
                   what.what().inserted};
    what.describe(timed);
    return timed;
  }

  /// The same of the case's chain.
  [[nodiscard]] result::measurement time_chain(const measured_configuration& configuration) {
    chain& whole = *configuration.chain_run;
    whole.activate();
    warm_up_once(whole.device(), [&] {
      whole.set_up();
      whole.run(0, whole.layers());
    });
    stopwatch& watch = watch_of(whole.device(), whole.is_shared());
    // What is enqueued or recorded as a whole is nowhere interrupted.
    const step_parts parts =
        whole.device().has_graphs() ? step_parts::whole : step_parts::stretches;
    const auto sampled = [&](auto&& speed, step_parts in) {
      step_sampler steps(whole, watch, speed, &interrupt_guard::interrupted, in);
      return steps.sample(sampled_for(configuration, work_queue_.plan().least_time));
    };
    result::measurement timed =
        whole.overlaps()
            ? overlapped_pass(whole.threads(),
                              [&] { return sampled(no_frequency_probe{}, step_parts::whole); })
            : best_pass(whole.device(), watch,
                        [&] { return sampled(speed_of(whole.device(), configuration), parts); });
    timed.name = result::row_name::chain(configuration.configuration);
    timed.counters["count"] = 1;
    timed.counters["footprint_bytes"] = static_cast<double>(whole.bytes());
    timed.counters["workspace_bytes"] = static_cast<double>(whole.workspace_bytes());
    return timed;
  }

  /// Runs a round of the clocks inside the case's chain.
  void clock_layers(measured_configuration& item) {
    item.chain_run->activate();
    item.clocks->measure_pass(*item.chain_run, speed_of(item.chain_run->device(), item),
                              sampled_for(item, work_queue_.plan().least_time));
  }

  /// Share of the time in which the processors were slower than usual; nothing before one looked.
  [[nodiscard]] std::optional<double> slow_share() const {
    std::optional<double> most;
    for (const auto& [device, speed] : probes_) {
      most = std::max(most, std::optional(speed->slow_share()));
    }
    return most;
  }
  /// What longest_round_trip() says now, at most, of the devices that were measured.
  [[nodiscard]] std::optional<double> core_latency() const {
    std::optional<double> most;
    for (const auto& [device, speed] : probes_)
      most = std::max(most, longest_core_latency(*device));
    return most;
  }

 private:
  static constexpr int most_retries = 2;

  /// Of a case that is behind schedule one sample is enough: rounds are what counts.
  [[nodiscard]] sampling sampled_for(const measured_configuration& configuration,
                                     double least_time) const {
    const std::size_t least = work_queue_.over_budget(configuration) ? 1 : 2;
    return {.least_time = least_time, .most_time = 4 * least_time, .least_samples = least};
  }

  [[nodiscard]] sampling sampled_for(const measured_configuration& configuration,
                                     const measured_row& row) const {
    sampling how = sampled_for(configuration, work_queue_.least_time(configuration, row));
    how.most_calls = row.what->calls().most_calls();
    if (row.what->contended()) {
      constexpr double some_reductions = 4;  // those that end count, and are slower beside work
      how.least_time =
          std::max({how.least_time, 0.05, some_reductions * row.what->allreduce_seconds().alone});
      how.most_time = 4 * how.least_time;
    }
    // What one call leaves behind is no help to the next where each is made ready alone, and the
    // processors' way to their usual clock counts little in long ones.
    const bool alone = how.most_calls == 1;
    const double known = row.rounds.empty() ? 0 : row.rounds.rbegin()->second;
    if (alone && known > how.most_time) how.warm_up = 0;
    return how;
  }

  /// Of a row whose calls are recorded.
  result::measurement recorded_pass(const measured_configuration& configuration,
                                    benchmark_case& what, const sampling& how) {
    stopwatch& watch = watch_of(what.device(), /*shared=*/false);
    recorded_calls calls(what.calls(), what.device(), watch);
    result::measurement timed = best_pass(what.device(), watch, [&] {
      return sample(
          calls, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t) { calls.call(); }, how,
          &interrupt_guard::interrupted, speed_of(what.device(), configuration));
    });
    calls.describe(timed);
    return timed;
  }

  /// Before the first timing on a device that tells its clock.
  template <class Work>
  void warm_up_once(compute_device& target, Work&& work) {
    if (!warm_.insert(&target).second) return;
    warm_up(target, [&] {
      work();
      target.synchronize();
    });
  }

  /// Once: what shares its processors is always disturbed.
  template <class Take>
  result::measurement overlapped_pass(int threads, Take&& take) {
    result::measurement timed;
    measure_pass(threads, wall_, take, timed, /*contended=*/true);
    timed.counters["retries"] = 0;
    return timed;
  }

  static void add_allreduce_times(const allreduce_times& of, result::measurement& to) {
    if (of.beside == 0) return;  // none ended in that time
    to.counters["reduction_alone_s"] = of.alone;
    to.counters["reduction_s"] = of.beside;
  }

  /// Visits again what was disturbed; the best visit is what counts.
  template <class Take>
  result::measurement best_pass(compute_device& device, const stopwatch& watch, Take&& take) {
    result::measurement best;
    std::optional<pass_quality> known;
    for (int retry = 0; retry <= most_retries && !interrupt_guard::interrupted(); ++retry) {
      result::measurement row;
      const telemetry_reading before = telemetry_reading::of(device);
      const pass_quality quality = measure_pass(device.threads(), watch, take, row);
      if (row.calls == 0) break;  // interrupted
      add_telemetry(before, telemetry_reading::of(device), row);
      if (!known || quality.better_than(*known)) {
        known = quality;
        best = std::move(row);
      }
      best.counters["retries"] = retry;
      if (!quality.preempted) break;
    }
    return best;
  }

  /// Waiting is part of what is shared with other ranks: it has wall time on any number of threads.
  stopwatch& watch_of(compute_device& target, bool shared) {
    if (shared && target.clock() == nullptr) return wall_;
    auto& known = watches_[&target];
    if (!known) known = std::make_unique<stopwatch>(stopwatch_of(target));
    return *known;
  }

  /// For a visit of the case.
  frequency_probe& speed_of(compute_device& device, const measured_configuration& configuration) {
    auto known = probes_.find(&device);
    if (known == probes_.end()) known = probes_.emplace(&device, speed_(device)).first;
    known->second->set_over_budget(work_queue_.over_budget(configuration));
    return *known->second;
  }

  const work_queue& work_queue_;
  probe_maker speed_;
  stopwatch wall_{2};                     ///< as of several threads
  std::set<const compute_device*> warm_;  ///< or there is no telling
  std::map<const compute_device*, std::unique_ptr<stopwatch>> watches_;
  std::map<compute_device*, std::unique_ptr<frequency_probe>> probes_;
};

}  // namespace layerbench::run
