// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <layerbench/machine/core_latency.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/stream_shares.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/device_graph_row.hpp>
#include <layerbench/session/layer_clocks.hpp>
#include <layerbench/session/step_sampler.hpp>
#include <layerbench/timing/measurement_pass.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

/// How long a pass samples.
struct pass_limits {
  double min_time;           ///< seconds
  bool over_budget = false;  ///< one sample is enough, and none waits for the usual frequency
  bool repeats = true;       ///< a pass that other programs disturbed is taken again
  /// Work precedes the pass until the device's clocks are steady.
  bool steady_clocks = false;
  double step_seconds = 0;            ///< of the row's model, as far as known
  double call_seconds = 0;            ///< of the row in its latest round, as far as known
  bool single_call = false;           ///< one call, without a warm-up, however disturbed
  result::stream_shares shares = {};  ///< of the processors, with other streams that run meanwhile
};

/// Times passes: samples one row or one chain, again where other programs disturbed it. Keeps a
/// stopwatch and a frequency probe per device.
class measurer {
 public:
  /// `make_probe` makes the frequency probe of a device's processors.
  explicit measurer(probe_maker make_probe) : make_probe_(std::move(make_probe)) {}

  /// Times one pass of a row. The result has no calls if an interrupt came before the first sample.
  [[nodiscard]] result::measurement time_row(benchmark_row& row, const pass_limits& limits) {
    row.activate();
    row.set_step_seconds(limits.step_seconds);
    const sampling how = sampling_of(row, limits);
    const bool recorded = row.device().timing() == timing_mode::graph && !row.contended() &&
                          !row.device().plans_record();
    const auto some_calls = [&] {
      const std::int64_t calls = std::min<std::int64_t>(how.most_calls, 64);
      row.set_up(calls);
      row.call(calls);
    };
    warmer_.prepare(row.device(), some_calls, limits.steady_clocks && !recorded);
    const auto take = [&](stopwatch& watch, auto&& probe) {
      row.warm_shared_cache(how.warm_up > 0);
      return sample(
          watch, [&](std::int64_t calls) { row.set_up(calls); },
          [&](std::int64_t calls) { row.call(calls); }, how, &interrupt_guard::interrupted, probe);
    };
    result::measurement timed;
    if (limits.shares.streams > 1) {
      stopwatch& watch = watch_of(row.device(), /*waits=*/false);
      timed = contended_pass(row.device(), watch,
                             [&](auto& probe) { return latest_ = take(watch, probe); });
      as_in_turns(timed, limits.shares.per_processor());
    } else if (row.contended()) {
      stopwatch& watch = watch_of(row.device(), /*waits=*/true);
      timed = contended_pass(row.device(), watch, [&](auto& probe) {
        samples taken;
        row.run_contended([&] { taken = take(watch, probe); });
        return taken;
      });
    } else if (recorded) {
      timed = recorded_pass(row, how, limits);
    } else {
      timed = least_disturbed_pass(row.device(), watch_of(row.device(), row.communicates()), limits,
                                   take);
    }
    timed.name = row.name();
    timed.label = {row.spec().op.key(), row.plan().algorithm(), row.spec().signature,
                   row.spec().inserted};
    row.describe(timed);
    return timed;
  }

  /// Times one pass of a chain; the caller names the result.
  [[nodiscard]] result::measurement time_chain(chain& model, const pass_limits& limits) {
    model.activate();
    const auto step = [&] {
      model.set_up();
      model.run(0, model.layers());
    };
    warmer_.prepare(model.device(), step, limits.steady_clocks);
    const auto take = [&](stopwatch& watch, auto&& probe, step_parts parts) {
      step_sampler steps(model, watch, probe, &interrupt_guard::interrupted, parts);
      return steps.sample(sampling_of(limits));
    };
    // A step that is enqueued as a whole, or replayed, cannot be interrupted between layers.
    const step_parts parts =
        model.device().has_graphs() ? step_parts::whole : step_parts::stretches;
    const bool beside = limits.shares.streams > 1;
    stopwatch& watch = watch_of(model.device(), model.communicates() || beside);
    result::measurement timed =
        beside
            ? contended_pass(model.device(), watch,
                             [&](auto& /*probe*/) { return latest_ = served_steps(model, limits); })
        : model.overlaps()
            ? contended_pass(model.device(), watch,
                             [&](auto& probe) { return take(watch, probe, step_parts::whole); })
            : least_disturbed_pass(
                  model.device(), watch, limits,
                  [&](stopwatch& own, auto&& probe) { return take(own, probe, parts); });
    timed.counters["count"] = 1;
    timed.counters["footprint_bytes"] = static_cast<double>(model.bytes());
    timed.counters["workspace_bytes"] = static_cast<double>(model.workspace_bytes());
    return timed;
  }

  /// Times one pass of the layers inside a chain.
  void time_layers(chain& model, layer_clocks& clocks, const pass_limits& limits) {
    model.activate();
    clocks.measure_pass(model, probe_of(model.device(), limits), sampling_of(limits));
  }

  /// The calls of the latest pass beside other streams, in the order of time.
  [[nodiscard]] const samples& latest() const { return latest_; }

  /// Share of the time in which the processors were slower than usual; nothing before a probe was
  /// used.
  [[nodiscard]] std::optional<double> slow_share() const {
    std::optional<double> largest;
    for (const auto& [device, probe] : probes_) {
      largest = std::max(largest, std::optional(probe->slow_share()));
    }
    return largest;
  }
  /// The longest core-to-core latency among the measured devices, measured now.
  [[nodiscard]] std::optional<double> core_latency() const {
    std::optional<double> longest;
    for (const auto& [device, probe] : probes_) {
      longest = std::max(longest, longest_core_to_core_latency(*device));
    }
    return longest;
  }

 private:
  static constexpr int max_retries = 2;

  [[nodiscard]] static sampling sampling_of(const pass_limits& limits) {
    if (limits.single_call) {
      return {.warm_up = 0, .least_time = 0, .most_time = 0, .least_samples = 1, .most_calls = 1};
    }
    return {.least_time = limits.min_time,
            .most_time = 4 * limits.min_time,
            .least_samples = limits.over_budget ? 1U : 2U};
  }

  [[nodiscard]] static sampling sampling_of(benchmark_row& row, const pass_limits& limits) {
    sampling how = sampling_of(limits);
    if (limits.single_call) return how;
    how.least_time = std::max(how.least_time, row.min_pass_seconds());
    if (limits.shares.streams > 1) {
      // Tells how steps vary: for as long as a step lasts, longer where the row is much of it.
      constexpr double longest = 0.05;  // seconds
      constexpr double steps = 20;      // of the rows of a step together
      const double step = std::min(longest, limits.step_seconds / limits.shares.per_processor());
      how.least_time = std::max(how.least_time, step * std::max(1.0, steps * row.share()));
    }
    how.most_time = 4 * how.least_time;
    how.most_calls = row.calls().most_calls();
    // A warm-up is useless for long calls that are set up one by one: a call then leaves nothing in
    // the caches for the next one, and the processor's frequency rises early in the call.
    const bool one_by_one = how.most_calls == 1;
    if (one_by_one && limits.call_seconds > how.most_time) how.warm_up = 0;
    return how;
  }

  /// Steps of a stream, from end to end, by the wall clock alone: where streams take turns on a
  /// processor, the system lets another one run at calls such as those that read other clocks.
  [[nodiscard]] static samples served_steps(chain& model, const pass_limits& limits) {
    constexpr double least_seconds = 0.3;  // for the quantiles
    const double pass = limits.single_call ? 0 : std::max(limits.min_time, least_seconds);
    for (std::size_t i = 0; i < model.warm_up_steps(); ++i) {
      model.set_up();
      model.run(0, model.layers());
    }
    samples taken;
    taken.calls_per_sample = 1;
    do {
      model.set_up();
      const double begin = stopwatch::now();
      model.run(0, model.layers());
      const double seconds = stopwatch::now() - begin;
      taken.add({seconds, seconds, seconds});
    } while (!interrupt_guard::interrupted() && taken.timed < pass);
    return taken;
  }

  /// Makes the times of calls, which are those of a processor, last as long as they do where that
  /// many streams take turns on it. The system gives each the same share.
  static void as_in_turns(result::measurement& timed, int turns) {
    timed.seconds *= turns;
    for (const char* of : {"low_s", "high_s", "mean_s", "min_s", "p95_s", "p99_s"}) {
      const auto found = timed.counters.find(of);
      if (found != timed.counters.end()) found->second *= turns;
    }
  }

  /// Times a pass of a row whose calls are replayed as a graph.
  result::measurement recorded_pass(benchmark_row& row, const sampling& how,
                                    const pass_limits& limits) {
    stopwatch& watch = watch_of(row.device(), /*waits=*/false);
    device_graph_row calls(row.calls(), row.device(), watch);
    if (limits.steady_clocks) {
      warm_up(row.device(), [&] {
        calls.replay(std::min<std::int64_t>(how.most_calls, 64));
        row.device().synchronize();
      });
    }
    result::measurement timed =
        least_disturbed_pass(row.device(), watch, limits, [&](stopwatch& /*watch*/, auto&& probe) {
          return sample(
              calls, [&](std::int64_t count) { calls.set_up(count); },
              [&](std::int64_t /*count*/) { calls.call(); }, how, &interrupt_guard::interrupted,
              probe);
        });
    calls.describe(timed);
    return timed;
  }

  /// Times a pass that shares its processors on purpose: once, since it is always disturbed.
  template <class Take>
  static result::measurement contended_pass(compute_device& device, const stopwatch& watch,
                                            Take&& take) {
    result::measurement timed;
    telemetry_watch telemetry(device);
    no_frequency_probe no_probe;
    watching_probe probe(no_probe, telemetry);
    measure_pass(device.threads(), watch, [&] { return take(probe); }, timed, /*contended=*/true);
    telemetry.add_to(timed);
    timed.counters["retries"] = 0;
    return timed;
  }

  /// Times a pass, again if other programs took its processors; returns the least disturbed one.
  template <class Take>
  result::measurement least_disturbed_pass(compute_device& device, stopwatch& watch,
                                           const pass_limits& limits, Take&& take) {
    result::measurement best;
    std::optional<pass_quality> best_quality;
    const int retries = limits.repeats && !limits.single_call ? max_retries : 0;
    for (int retry = 0; !interrupt_guard::interrupted(); ++retry) {
      result::measurement timed;
      telemetry_watch telemetry(device);
      watching_probe probe(probe_of(device, limits), telemetry);
      const pass_quality quality =
          measure_pass(device.threads(), watch, [&] { return take(watch, probe); }, timed);
      if (timed.calls == 0) break;  // interrupted
      telemetry.add_to(timed);
      if (!best_quality || quality.better_than(*best_quality)) {
        best_quality = quality;
        best = std::move(timed);
      }
      best.counters["retries"] = retry;
      if (retry > 0 && (!quality.preempted || retry == retries)) retry_.note(!quality.preempted);
      if (!quality.preempted || retry == retries || (retry == 0 && !retry_.is_likely())) break;
    }
    return best;
  }

  /// The stopwatch of the device. Calls that wait for other ranks, or share processors with other
  /// work, need wall time on any number of threads.
  stopwatch& watch_of(compute_device& device, bool waits) {
    if (waits && device.clock() == nullptr) return wall_;
    auto& known = watches_[&device];
    if (!known) known = std::make_unique<stopwatch>(stopwatch_of(device));
    return *known;
  }

  /// The frequency probe of the device, set for a pass.
  frequency_probe& probe_of(compute_device& device, const pass_limits& limits) {
    auto known = probes_.find(&device);
    if (known == probes_.end()) known = probes_.emplace(&device, make_probe_(device)).first;
    known->second->set_over_budget(limits.over_budget);
    return *known->second;
  }

  probe_maker make_probe_;
  stopwatch wall_{clock::wall};
  device_warmer warmer_;
  retry_benefit retry_;
  samples latest_;  ///< see latest()
  std::map<const compute_device*, std::unique_ptr<stopwatch>> watches_;
  std::map<compute_device*, std::unique_ptr<frequency_probe>> probes_;
};

}  // namespace layerbench::run
