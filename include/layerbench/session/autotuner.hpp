// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/session/verify.hpp>
#include <layerbench/timing/interrupt.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

namespace detail {

/// One of several plans for the same work, and its times.
class candidate {
 public:
  candidate(device_context& context, std::unique_ptr<any_plan> plan, std::uint64_t seed)
      : plan_(std::move(plan)),
        hot_(context, *plan_, {.cache = cache_state::hot}, seed),
        cold_(context, *plan_, {.cache = cache_state::cold}, seed) {}

  [[nodiscard]] const any_plan& plan() const { return *plan_; }

  /// Seconds of the first call; on GPUs of the second call, since libraries load code in the first.
  [[nodiscard]] double first_seconds(stopwatch& watch) {
    const sampling once{.warm_up = 0, .least_time = 0, .least_samples = 1};
    const double first = median_of(hot_, watch, once);
    return watch.uses_device_clock() ? median_of(hot_, watch, once) : first;
  }
  void measure(stopwatch& watch) {
    const sampling how{.warm_up = 0.001, .least_time = 0.003, .most_time = 0.012};
    hot_seconds_.push_back(median_of(hot_, watch, how));
    cold_seconds_.push_back(median_of(cold_, watch, how));
  }
  /// Seconds of a hot and a cold call together: calls in models lie between the two.
  [[nodiscard]] double seconds() const {
    return stats::median(hot_seconds_) + stats::median(cold_seconds_);
  }

 private:
  [[nodiscard]] static double median_of(operand_ring& calls, stopwatch& watch, sampling how) {
    how.most_calls = calls.most_calls();
    const samples all = sample(
        watch, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
        how);
    return stats::median(all.seconds);
  }

  std::unique_ptr<any_plan> plan_;
  operand_ring hot_;
  operand_ring cold_;
  std::vector<double> hot_seconds_;
  std::vector<double> cold_seconds_;
};

/// The index of the shortest time, or of the first one within 2 % of it, so that noise does not
/// decide. The library's own choice is first.
[[nodiscard]] inline std::size_t shortest(const std::vector<double>& seconds) {
  constexpr double tied = 1.02;
  const double least = std::ranges::min(seconds);
  const auto wins = [&](double value) { return value <= tied * least; };
  return static_cast<std::size_t>(std::ranges::find_if(seconds, wins) - seconds.begin());
}

}  // namespace detail

/// Chooses among the plans that a library has for the same work: the one that a result file names;
/// else the fastest one, if the autotuner measures; else the library's own choice.
class autotuner {
 public:
  autotuner(bool measures, std::uint64_t seed, reference::oracle oracle)
      : measures_(measures), seed_(seed), oracle_(std::move(oracle)) {}

  /// Reads the plans that a result file names. `now` has the context fields that must agree: other
  /// libraries use the same names for other plans. Throws bad_input where they differ.
  void restore(const std::string& file, const description& now) {
    const result::results before = result::read(file);
    for (const auto& [name, value] : now) {
      const auto then = before.context.find(name);
      const std::string was = then == before.context.end() ? "not known" : then->second;
      if (was == value) continue;
      throw bad_input(file, "/context/" + name,
                      fmt::format("its plans were chosen where it was {}, here it is {}; choose "
                                  "them again with --plans=measured",
                                  was, value));
    }
    const auto threads = before.context.find("threads");
    const std::string usual_threads = threads == before.context.end() ? "" : threads->second;
    for (const result::measurement& row : before.rows) {
      if (!row.error.empty()) continue;
      const result::configuration_name& configuration = row.name.configuration;
      const std::string work = fmt::format("{}/{}/{}", row.name.op, row.name.pass, row.label.key);
      known_[full_name(configuration.backend, configuration.parameter("threads", usual_threads),
                       configuration.dtype, configuration.parameter("layout", "nhwc"), work)] =
          row.label.algorithm;
    }
    if (known_.empty() && !measures_)
      throw bad_input(file, "/benchmarks", "no row that names a plan");
  }

  /// Returns the algorithm for an op on a backend's device; empty: the library's choice. Throws
  /// unsupported where the device has no plan.
  [[nodiscard]] std::string choose(const std::string& backend, int threads, device_context& context,
                                   const op::any& op, const plan_request& request) {
    const std::string work =
        full_name(backend, std::to_string(threads), std::string(name(request.type)),
                  std::string(name(request.order)), model::work_of(op, request.pass));
    const auto known = known_.find(work);
    if (known != known_.end()) {
      used_ = true;
      return known->second;
    }
    if (!measures_ || interrupt_guard::interrupted()) return {};
    return known_[work] = fastest(work, context, op, request);
  }

  /// Texts for people, about choices that differ from the library's and about failed candidates.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Whether the result file named a plan for none of the ops asked for.
  [[nodiscard]] bool fits_nothing() const { return !measures_ && !used_; }

 private:
  static constexpr int rounds = 5;

  /// Names all that a library's choice depends on.
  [[nodiscard]] static std::string full_name(const std::string& backend, const std::string& threads,
                                             const std::string& type, const std::string& order,
                                             const std::string& work) {
    return fmt::format("{}/threads:{}/{}/{}/{}", backend, threads, type, order, work);
  }

  [[nodiscard]] std::string fastest(const std::string& work, device_context& context,
                                    const op::any& op, const plan_request& request) {
    compute_device& device = context.device();
    const std::unique_ptr<any_plan> own = device.make_plan(op, request);
    const std::vector<std::string> names = own->alternatives();
    if (names.size() < 2) return {};
    device.activate();
    stopwatch watch = stopwatch_of(device);
    const auto candidates = candidates_of(names, work, context, op, request, watch);
    if (candidates.empty()) return {};
    for (int i = 0; i < rounds; ++i) {
      for (const auto& candidate : candidates) {
        if (interrupt_guard::interrupted()) return {};
        candidate->measure(watch);
      }
    }
    std::vector<double> seconds;
    for (const auto& candidate : candidates) seconds.push_back(candidate->seconds());
    std::size_t best = detail::shortest(seconds);
    const reference::exact_value expected = oracle_.of(op, request.pass);
    while (best != 0 && !is_correct(work, device, candidates[best]->plan(), expected)) {
      seconds[best] = std::numeric_limits<double>::infinity();
      best = detail::shortest(seconds);
    }
    if (best == 0) return {};
    const std::string chosen = candidates[best]->plan().algorithm();
    notes_.push_back(fmt::format("{}: {} in place of {}, {:.2f} times as fast", work, chosen,
                                 own->algorithm(), seconds.front() / seconds[best]));
    return chosen;
  }

  /// The library's own choice, and all other plans that run and are not far slower: libraries have
  /// slow plans for shapes that no other plan supports.
  [[nodiscard]] std::vector<std::unique_ptr<detail::candidate>> candidates_of(
      const std::vector<std::string>& names, const std::string& work, device_context& context,
      const op::any& op, const plan_request& request, stopwatch& watch) {
    constexpr double far_slower = 3;
    std::vector<std::unique_ptr<detail::candidate>> candidates;
    double least = std::numeric_limits<double>::infinity();
    for (const std::string& name : names) {
      plan_request named = request;
      named.algorithm = name;
      auto plan = plan_or_null(context.device(), op, named);
      if (!plan) continue;  // it may need too much workspace
      auto next = std::make_unique<detail::candidate>(context, std::move(plan), seed_);
      const bool first = candidates.empty();
      const std::optional<double> seconds = first_seconds(*next, work, watch);
      if (!seconds || (!first && *seconds > far_slower * least)) continue;
      least = std::min(least, *seconds);
      candidates.push_back(std::move(next));
    }
    return candidates;
  }

  /// Seconds of a candidate's first call; nothing where the library fails to run it.
  [[nodiscard]] std::optional<double> first_seconds(detail::candidate& candidate,
                                                    const std::string& work, stopwatch& watch) {
    try {
      return candidate.first_seconds(watch);
    } catch (const api_error& e) {
      notes_.push_back(
          fmt::format("{}: {} is out: {}", work, candidate.plan().algorithm(), e.what()));
      return std::nullopt;
    }
  }

  [[nodiscard]] bool is_correct(const std::string& work, compute_device& device,
                                const any_plan& plan, const reference::exact_value& expected) {
    try {
      verify(device, plan, expected, seed_, /*every_output=*/false);
      return true;
    } catch (const wrong_result& e) {
      notes_.push_back(fmt::format("{}: {} is out: {}", work, plan.algorithm(), e.what()));
      return false;
    }
  }

  bool measures_;
  std::uint64_t seed_;
  reference::oracle oracle_;
  std::map<std::string, std::string> known_;  ///< algorithms by work
  std::vector<std::string> notes_;
  bool used_ = false;  ///< whether choose() found anything in `known_`
};

}  // namespace layerbench::run
