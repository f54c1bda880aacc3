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

#include <layerbench/result/measurement.hpp>
#include <layerbench/run/agenda.hpp>
#include <layerbench/run/gauges.hpp>
#include <layerbench/run/recorded_calls.hpp>
#include <layerbench/run/round_trip.hpp>
#include <layerbench/run/sampler.hpp>
#include <layerbench/run/speed_probe.hpp>
#include <layerbench/run/step_sampler.hpp>
#include <layerbench/run/visit.hpp>

namespace layerbench::run {

/// Takes the samples of a round: of rows, of chains, and of the clocks inside them.
class visitor {
 public:
  /// `what` must outlive this; `speed` makes what says how fast a device's processors are.
  visitor(const agenda& what, probe_maker speed) : agenda_(what), speed_(std::move(speed)) {}

  /// A round's timing of a row; without calls when it was interrupted before the first.
  [[nodiscard]] result::measurement time_row(const measured_case& owner, const measured_row& row) {
    fixture& what = *row.what;
    what.activate();
    what.set_step_seconds(agenda_.step_seconds(owner));
    const sampling how = sampled_for(owner, row);
    warm_up_once(what.here(), [&] {
      const std::int64_t some = std::min<std::int64_t>(how.most_calls, 64);
      what.ready(some);
      what.call(some);
    });
    const auto sampled = [&](stopwatch& watch, auto&& speed) {
      what.settle(how.warm_up > 0);
      return sample(
          watch, [&](std::int64_t n) { what.ready(n); }, [&](std::int64_t n) { what.call(n); }, how,
          &interrupt_guard::interrupted, speed);
    };
    result::measurement timed;
    if (what.contended()) {
      timed = contended_visit(what.threads(), [&] {
        return what.contend([&] { return sampled(wall_, any_speed{}); });
      });
      add_reductions(what.reductions(), timed);
    } else if (what.here().timing() == timing_mode::graph) {
      timed = recorded_visit(owner, what, how);
    } else {
      stopwatch& watch = watch_of(what.here(), what.is_shared());
      timed = best_visit(what.here(), watch,
                         [&] { return sampled(watch, speed_of(what.here(), owner)); });
    }
    timed.name = what.name();
    timed.label = {what.what().op.key(), what.plan().algorithm(), what.what().signature,
                   what.what().inserted};
    what.describe(timed);
    return timed;
  }

  /// The same of the case's chain.
  [[nodiscard]] result::measurement time_chain(const measured_case& owner) {
    chain& whole = *owner.whole;
    whole.activate();
    warm_up_once(whole.here(), [&] {
      whole.ready();
      whole.run(0, whole.layers());
    });
    stopwatch& watch = watch_of(whole.here(), whole.is_shared());
    // What is enqueued or recorded as a whole is nowhere interrupted.
    const step_parts parts = whole.here().has_graphs() ? step_parts::whole : step_parts::stretches;
    const auto sampled = [&](auto&& speed, step_parts in) {
      step_sampler steps(whole, watch, speed, &interrupt_guard::interrupted, in);
      return steps.sample(sampled_for(owner, agenda_.plan().least_time));
    };
    result::measurement timed =
        whole.overlaps() ? contended_visit(whole.threads(),
                                           [&] { return sampled(any_speed{}, step_parts::whole); })
                         : best_visit(whole.here(), watch, [&] {
                             return sampled(speed_of(whole.here(), owner), parts);
                           });
    timed.name = result::row_name::chain(owner.owner);
    timed.counters["count"] = 1;
    timed.counters["footprint_bytes"] = static_cast<double>(whole.bytes());
    timed.counters["workspace_bytes"] = static_cast<double>(whole.workspace_bytes());
    return timed;
  }

  /// Runs a round of the clocks inside the case's chain.
  void clock_layers(measured_case& each) {
    each.whole->activate();
    each.clocks->visit(*each.whole, speed_of(each.whole->here(), each),
                       sampled_for(each, agenda_.plan().least_time));
  }

  /// Share of the time in which the processors were slower than usual; nothing before one looked.
  [[nodiscard]] std::optional<double> slow_share() const {
    std::optional<double> most;
    for (const auto& [here, speed] : probes_) {
      most = std::max(most, std::optional(speed->slow_share()));
    }
    return most;
  }
  /// What longest_round_trip() says now, at most, of the devices that were measured.
  [[nodiscard]] std::optional<double> round_trip() const {
    std::optional<double> most;
    for (const auto& [here, speed] : probes_) most = std::max(most, longest_round_trip(*here));
    return most;
  }

 private:
  static constexpr int most_retries = 2;

  /// Of a case that is behind schedule one sample is enough: rounds are what counts.
  [[nodiscard]] sampling sampled_for(const measured_case& owner, double least_time) const {
    const std::size_t least = agenda_.behind(owner) ? 1 : 2;
    return {.least_time = least_time, .most_time = 4 * least_time, .least_samples = least};
  }

  [[nodiscard]] sampling sampled_for(const measured_case& owner, const measured_row& row) const {
    sampling how = sampled_for(owner, agenda_.least_time(owner, row));
    how.most_calls = row.what->calls().most_calls();
    if (row.what->contended()) {
      constexpr double some_reductions = 4;  // those that end count, and are slower beside work
      how.least_time =
          std::max({how.least_time, 0.05, some_reductions * row.what->reductions().alone});
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
  result::measurement recorded_visit(const measured_case& owner, fixture& what,
                                     const sampling& how) {
    stopwatch& watch = watch_of(what.here(), /*shared=*/false);
    recorded_calls calls(what.calls(), what.here(), watch);
    result::measurement timed = best_visit(what.here(), watch, [&] {
      return sample(
          calls, [&](std::int64_t n) { calls.ready(n); }, [&](std::int64_t) { calls.call(); }, how,
          &interrupt_guard::interrupted, speed_of(what.here(), owner));
    });
    calls.describe(timed);
    return timed;
  }

  /// Before the first timing on a device that tells its clock.
  template <class Work>
  void warm_up_once(device& here, Work&& work) {
    if (!warm_.insert(&here).second) return;
    warm_up(here, [&] {
      work();
      here.synchronize();
    });
  }

  /// Once: what shares its processors is always disturbed.
  template <class Take>
  result::measurement contended_visit(int threads, Take&& take) {
    result::measurement timed;
    visit(threads, wall_, take, timed, /*contended=*/true);
    timed.counters["retries"] = 0;
    return timed;
  }

  static void add_reductions(const reduction_times& of, result::measurement& to) {
    if (of.beside == 0) return;  // none ended in that time
    to.counters["reduction_alone_s"] = of.alone;
    to.counters["reduction_s"] = of.beside;
  }

  /// Visits again what was disturbed; the best visit is what counts.
  template <class Take>
  result::measurement best_visit(device& here, const stopwatch& watch, Take&& take) {
    result::measurement best;
    std::optional<visit_quality> known;
    for (int retry = 0; retry <= most_retries && !interrupt_guard::interrupted(); ++retry) {
      result::measurement row;
      const gauge_reading before = gauge_reading::of(here);
      const visit_quality quality = visit(here.threads(), watch, take, row);
      if (row.calls == 0) break;  // interrupted
      add_gauges(before, gauge_reading::of(here), row);
      if (!known || quality.better_than(*known)) {
        known = quality;
        best = std::move(row);
      }
      best.counters["retries"] = retry;
      if (!quality.pushed_off) break;
    }
    return best;
  }

  /// Waiting is part of what is shared with other ranks: it has wall time on any number of threads.
  stopwatch& watch_of(device& here, bool shared) {
    if (shared && here.clock() == nullptr) return wall_;
    auto& known = watches_[&here];
    if (!known) known = std::make_unique<stopwatch>(stopwatch_of(here));
    return *known;
  }

  /// For a visit of the case.
  speed_probe& speed_of(device& here, const measured_case& owner) {
    auto known = probes_.find(&here);
    if (known == probes_.end()) known = probes_.emplace(&here, speed_(here)).first;
    known->second->hurry(agenda_.behind(owner));
    return *known->second;
  }

  const agenda& agenda_;
  probe_maker speed_;
  stopwatch wall_{2};             ///< as of several threads
  std::set<const device*> warm_;  ///< or there is no telling
  std::map<const device*, std::unique_ptr<stopwatch>> watches_;
  std::map<device*, std::unique_ptr<speed_probe>> probes_;
};

}  // namespace layerbench::run
