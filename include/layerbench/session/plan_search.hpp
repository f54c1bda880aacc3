// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
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
  candidate(device_context& context, std::unique_ptr<any_plan> plan, std::uint64_t seed);

  /// Whether it may still be chosen; plan() and the measuring functions need that.
  [[nodiscard]] bool remains() const { return plan_ != nullptr; }
  [[nodiscard]] const any_plan& plan() const { return *plan_; }
  [[nodiscard]] const std::string& algorithm() const { return record_.algorithm; }
  /// Frees its plan and memory. `why` goes to the result file.
  void drop(std::string why);

  /// Makes some calls, untimed.
  void call();
  /// Times a call; on GPUs the second of two, since libraries load code in the first. Throws
  /// `unsupported` if calls are to be replayed, and this one cannot be recorded.
  void look(stopwatch& watch);
  /// The least time of all looks; infinite before the first.
  [[nodiscard]] double first_seconds() const;
  void measure(stopwatch& watch);
  /// Drops it, for all runs.
  void forbid(std::string why);
  [[nodiscard]] const result::plan_candidate& record() const { return record_; }

 private:
  [[nodiscard]] static double median_of(operand_ring& calls, stopwatch& watch, sampling how);

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
[[nodiscard]] std::size_t shortest(const std::vector<double>& seconds);

/// Seconds of a hot and a cold call together, since calls in models lie between the two; infinite
/// for candidates that were dropped.
[[nodiscard]] double seconds_of(const result::plan_candidate& candidate);

/// The fastest candidate (see shortest()); null if none remains.
[[nodiscard]] const result::plan_candidate* fastest_of(
    const std::vector<result::plan_candidate>& all);

/// One search for the fastest of several plans for the same work.
class plan_search {
 public:
  /// `plans`: the library's own choice, then others.
  plan_search(device_context& context, std::vector<std::unique_ptr<any_plan>> plans,
              std::uint64_t seed);

  /// Measures all candidates, after the device is warm: the clock is calibrated then. Returns false
  /// on an interrupt.
  [[nodiscard]] bool measure(device_warmer& warmer);

  /// Checks the fastest candidate against the reference formula, and the next one if its results
  /// are wrong. The library's own choice is verified with its row.
  void verify_fastest(const reference::exact_value& expected);

  /// What is known of each candidate, in the order of the plans.
  [[nodiscard]] std::vector<result::plan_candidate> records() const;
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
  void drop_slow(stopwatch& watch);

  compute_device& device_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<candidate>> all_;
  std::vector<std::string> failures_;
};

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/plan_search-inl.hpp>
#endif
