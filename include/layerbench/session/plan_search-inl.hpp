// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/session/plan_search.hpp>
#include <layerbench/session/verify.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

namespace detail {

LAYERBENCH_INLINE candidate::candidate(device_context& context, std::unique_ptr<any_plan> plan,
                                       std::uint64_t seed)
    : device_(context.device()),
      record_{.algorithm = plan->algorithm(),
              .workspace_bytes = static_cast<std::int64_t>(plan->workspace_bytes())},
      plan_(std::move(plan)),
      hot_(std::in_place, context, *plan_, op_in_context{.cache = cache_state::hot}, seed),
      cold_(std::in_place, context, *plan_, op_in_context{.cache = cache_state::cold}, seed) {}

LAYERBENCH_INLINE void candidate::drop(std::string why) {
  record_.note = std::move(why);
  hot_.reset();
  cold_.reset();
  plan_.reset();
}

LAYERBENCH_INLINE void candidate::call() {
  const std::int64_t calls = std::min<std::int64_t>(hot_->most_calls(), 64);
  hot_->set_up(calls);
  hot_->call(calls);
}

LAYERBENCH_INLINE void candidate::look(stopwatch& watch) {
  const sampling once{.warm_up = 0, .least_time = 0, .least_samples = 1};
  double seconds = median_of(*hot_, watch, once);
  if (watch.uses_device_clock()) seconds = median_of(*hot_, watch, once);
  if (device_.timing() == timing_mode::graph) {
    static_cast<void>(device_.record([&] { hot_->enqueue(0); }));
  }
  record_.first_seconds = std::min(seconds, first_seconds());
}

LAYERBENCH_INLINE double candidate::first_seconds() const {
  return record_.first_seconds.value_or(std::numeric_limits<double>::infinity());
}

LAYERBENCH_INLINE void candidate::measure(stopwatch& watch) {
  const sampling how{.warm_up = 0.001, .least_time = 0.003, .most_time = 0.012};
  hot_all_.push_back(median_of(*hot_, watch, how));
  record_.hot_seconds = stats::median(hot_all_);
  cold_all_.push_back(median_of(*cold_, watch, how));
  record_.cold_seconds = stats::median(cold_all_);
}

LAYERBENCH_INLINE void candidate::forbid(std::string why) {
  drop(std::move(why));
  record_.forbidden = true;
}

LAYERBENCH_INLINE double candidate::median_of(operand_ring& calls, stopwatch& watch, sampling how) {
  how.most_calls = calls.most_calls();
  const samples all = sample(
      watch, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); }, how);
  return stats::median(all.seconds);
}

LAYERBENCH_INLINE std::size_t shortest(const std::vector<double>& seconds) {
  constexpr double tied = 1.02;
  const double least = std::ranges::min(seconds);
  const auto wins = [&](double value) { return value <= tied * least; };
  return static_cast<std::size_t>(std::ranges::find_if(seconds, wins) - seconds.begin());
}

LAYERBENCH_INLINE double seconds_of(const result::plan_candidate& candidate) {
  const bool remains = candidate.note.empty() && !candidate.forbidden;
  if (!remains || !candidate.hot_seconds || !candidate.cold_seconds) {
    return std::numeric_limits<double>::infinity();
  }
  return *candidate.hot_seconds + *candidate.cold_seconds;
}

LAYERBENCH_INLINE const result::plan_candidate* fastest_of(
    const std::vector<result::plan_candidate>& all) {
  std::vector<double> seconds;
  for (const result::plan_candidate& candidate : all) seconds.push_back(seconds_of(candidate));
  if (seconds.empty() || std::ranges::min(seconds) == std::numeric_limits<double>::infinity()) {
    return nullptr;
  }
  return &all[shortest(seconds)];
}

LAYERBENCH_INLINE plan_search::plan_search(device_context& context,
                                           std::vector<std::unique_ptr<any_plan>> plans,
                                           std::uint64_t seed)
    : device_(context.device()), seed_(seed) {
  for (std::unique_ptr<any_plan>& plan : plans) {
    all_.push_back(std::make_unique<candidate>(context, std::move(plan), seed));
  }
}

LAYERBENCH_INLINE bool plan_search::measure(device_warmer& warmer) {
  constexpr int passes = 5;
  warmer.prepare(device_, [&] {
    const auto first = std::ranges::find_if(all_, &candidate::remains);
    if (first == all_.end()) return;
    static_cast<void>(attempt(**first, [&] {
      (*first)->call();
      device_.synchronize();  // so that its errors are caught here
    }));
  });
  stopwatch watch = stopwatch_of(device_);
  for_remaining([&](candidate& one) { one.look(watch); });
  drop_slow(watch);
  for (int i = 0; i < passes && !interrupt_guard::interrupted(); ++i) {
    for_remaining([&](candidate& one) { one.measure(watch); });
  }
  return !interrupt_guard::interrupted();
}

LAYERBENCH_INLINE void plan_search::verify_fastest(const reference::exact_value& expected) {
  for (;;) {
    const std::vector<result::plan_candidate> times = records();
    const result::plan_candidate* best = fastest_of(times);
    if (best == nullptr || best == times.data()) return;
    candidate& chosen = *all_[static_cast<std::size_t>(best - times.data())];
    const bool correct = attempt(
        chosen, [&] { verify(device_, chosen.plan(), expected, seed_, /*every_output=*/false); });
    if (correct) return;
  }
}

LAYERBENCH_INLINE std::vector<result::plan_candidate> plan_search::records() const {
  std::vector<result::plan_candidate> all;
  for (const auto& one : all_) all.push_back(one->record());
  return all;
}

LAYERBENCH_INLINE void plan_search::drop_slow(stopwatch& watch) {
  constexpr double far_slower = 1.5;
  const auto slow = [&](const candidate& one) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& other : all_) {
      if (other->remains()) least = std::min(least, other->first_seconds());
    }
    return &one != all_.front().get() && one.first_seconds() > far_slower * least;
  };
  for_remaining([&](candidate& one) {
    if (slow(one)) one.look(watch);
  });
  for_remaining([&](candidate& one) {
    if (slow(one)) one.drop("more than 1.5 times as slow as the fastest");
  });
}

}  // namespace detail
}  // namespace layerbench::run
