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

#include <fmt/format.h>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/session/verify.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run::detail {

/// One of several plans for the same work, and its times.
class candidate {
 public:
  candidate(device_context& context, std::unique_ptr<any_plan> plan, std::uint64_t seed)
      : device_(context.device()),
        record_{.algorithm = plan->algorithm(),
                .workspace_bytes = static_cast<std::int64_t>(plan->workspace_bytes())},
        plan_(std::move(plan)),
        hot_(std::in_place, context, *plan_, op_in_context{.cache = cache_state::hot}, seed),
        cold_(std::in_place, context, *plan_, op_in_context{.cache = cache_state::cold}, seed) {}

  /// Whether it may still be chosen; plan() and the measuring functions need that.
  [[nodiscard]] bool remains() const { return plan_ != nullptr; }
  [[nodiscard]] const any_plan& plan() const { return *plan_; }
  [[nodiscard]] const std::string& algorithm() const { return record_.algorithm; }
  /// Frees its plan and memory. `why` goes to the result file.
  void drop(std::string why) {
    record_.note = std::move(why);
    hot_.reset();
    cold_.reset();
    plan_.reset();
  }

  /// Makes some calls, untimed.
  void call() {
    const std::int64_t calls = std::min<std::int64_t>(hot_->most_calls(), 64);
    hot_->set_up(calls);
    hot_->call(calls);
  }
  /// Times a call; on GPUs the second of two, since libraries load code in the first. Throws
  /// `unsupported` if calls are to be replayed, and this one cannot be recorded.
  void look(stopwatch& watch) {
    const sampling once{.warm_up = 0, .least_time = 0, .least_samples = 1};
    double seconds = median_of(*hot_, watch, once);
    if (watch.uses_device_clock()) seconds = median_of(*hot_, watch, once);
    if (device_.timing() == timing_mode::graph) {
      static_cast<void>(device_.record([&] { hot_->enqueue(0); }));
    }
    record_.first_seconds = std::min(seconds, first_seconds());
  }
  /// The least time of all looks; infinite before the first.
  [[nodiscard]] double first_seconds() const {
    return record_.first_seconds.value_or(std::numeric_limits<double>::infinity());
  }
  void measure(stopwatch& watch) {
    const sampling how{.warm_up = 0.001, .least_time = 0.003, .most_time = 0.012};
    hot_all_.push_back(median_of(*hot_, watch, how));
    record_.hot_seconds = stats::median(hot_all_);
    cold_all_.push_back(median_of(*cold_, watch, how));
    record_.cold_seconds = stats::median(cold_all_);
  }
  /// Drops it, for all runs.
  void forbid(std::string why) {
    drop(std::move(why));
    record_.forbidden = true;
  }
  [[nodiscard]] const result::plan_candidate& record() const { return record_; }

 private:
  [[nodiscard]] static double median_of(operand_ring& calls, stopwatch& watch, sampling how) {
    how.most_calls = calls.most_calls();
    const samples all = sample(
        watch, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
        how);
    return stats::median(all.seconds);
  }

  compute_device& device_;
  result::plan_candidate record_;
  std::unique_ptr<any_plan> plan_;
  std::optional<operand_ring> hot_;
  std::optional<operand_ring> cold_;
  std::vector<double> hot_all_;
  std::vector<double> cold_all_;
};

/// The index of the shortest time, or of the first one within 2 % of it, so that noise does not
/// decide. The library's own choice is first.
[[nodiscard]] inline std::size_t shortest(const std::vector<double>& seconds) {
  constexpr double tied = 1.02;
  const double least = std::ranges::min(seconds);
  const auto wins = [&](double value) { return value <= tied * least; };
  return static_cast<std::size_t>(std::ranges::find_if(seconds, wins) - seconds.begin());
}

/// Seconds of a hot and a cold call together, since calls in models lie between the two; infinite
/// for candidates that were dropped.
[[nodiscard]] inline double seconds_of(const result::plan_candidate& candidate) {
  const bool remains = candidate.note.empty() && !candidate.forbidden;
  if (!remains || !candidate.hot_seconds || !candidate.cold_seconds) {
    return std::numeric_limits<double>::infinity();
  }
  return *candidate.hot_seconds + *candidate.cold_seconds;
}

/// The fastest candidate (see shortest()); null if none remains.
[[nodiscard]] inline const result::plan_candidate* fastest_of(
    const std::vector<result::plan_candidate>& all) {
  std::vector<double> seconds;
  for (const result::plan_candidate& candidate : all) seconds.push_back(seconds_of(candidate));
  if (seconds.empty() || std::ranges::min(seconds) == std::numeric_limits<double>::infinity()) {
    return nullptr;
  }
  return &all[shortest(seconds)];
}

/// One search for the fastest of several plans for the same work.
class plan_search {
 public:
  /// `plans`: the library's own choice, then others.
  plan_search(device_context& context, std::vector<std::unique_ptr<any_plan>> plans,
              std::uint64_t seed)
      : device_(context.device()), seed_(seed) {
    for (std::unique_ptr<any_plan>& plan : plans) {
      all_.push_back(std::make_unique<candidate>(context, std::move(plan), seed));
    }
  }

  /// Measures all candidates, after the device is warm: the clock is calibrated then. Returns false
  /// on an interrupt.
  [[nodiscard]] bool measure(device_warmer& warmer) {
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

  /// Checks the fastest candidate against the reference formula, and the next one if its results
  /// are wrong. The library's own choice is verified with its row.
  void verify_fastest(const reference::exact_value& expected) {
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

  /// What is known of each candidate, in the order of the plans.
  [[nodiscard]] std::vector<result::plan_candidate> records() const {
    std::vector<result::plan_candidate> all;
    for (const auto& one : all_) all.push_back(one->record());
    return all;
  }
  /// Texts for people about plans that failed.
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

 private:
  /// Does `work` for each remaining candidate, until an interrupt.
  template <class Work>
  void for_remaining(Work&& work) {
    for (const auto& one : all_) {
      if (!one->remains() || interrupt_guard::interrupted()) continue;
      static_cast<void>(attempt(*one, [&] { work(*one); }));
    }
  }

  /// Does `work` for a candidate; drops it and returns false where that fails. Throws device_lost.
  template <class Work>
  [[nodiscard]] bool attempt(candidate& one, Work&& work) {
    try {
      work();
      return true;
    } catch (const not_enough_memory& e) {
      if (&one == all_.front().get()) throw;  // the library's own choice
      failures_.push_back(fmt::format("{} is out: {}", one.algorithm(), e.what()));
      one.drop(e.what());
    } catch (const wrong_result& e) {
      failures_.push_back(fmt::format("{} is out: {}", one.algorithm(), e.what()));
      one.forbid(e.what());
    } catch (const error& e) {
      const auto lasting = device_.lasting_error();
      const std::string text = fmt::format("{} is out: {}", one.algorithm(), e.what());
      failures_.push_back(text);
      one.drop(e.what());
      if (lasting) {
        one.forbid(e.what());
        throw device_lost(
            fmt::format("{}; no call on the device succeeds any more ({})", text, *lasting));
      }
    }
    return false;
  }

  /// Drops what takes more than 1.5 times the best, also in a second look: libraries have slow
  /// plans for shapes that no other plan supports. The library's own choice stays, to compare with.
  void drop_slow(stopwatch& watch) {
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

  compute_device& device_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<candidate>> all_;
  std::vector<std::string> failures_;
};

}  // namespace layerbench::run::detail
