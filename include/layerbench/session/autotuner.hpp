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
#include <layerbench/result/google_json.hpp>
#include <layerbench/session/verify.hpp>
#include <layerbench/timing/interrupt.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

namespace detail {

/// One of several plans for the same work.
class candidate {
 public:
  candidate(device_context& memory, std::unique_ptr<any_plan> result, std::uint64_t seed)
      : plan_(std::move(result)),
        hot_(memory, *plan_, {.cache = cache_state::hot}, seed),
        cold_(memory, *plan_, {.cache = cache_state::cold}, seed) {}

  [[nodiscard]] const any_plan& plan() const { return *plan_; }

  /// Seconds of the first calls of all; on GPUs of the second ones, since libraries load their code
  /// in the first.
  [[nodiscard]] double first_look(stopwatch& watch) {
    const sampling once{.warm_up = 0, .least_time = 0, .least_samples = 1};
    const double first = taken(hot_, watch, once);
    return watch.of_device() ? taken(hot_, watch, once) : first;
  }
  void round(stopwatch& watch) {
    const sampling how{.warm_up = 0.001, .least_time = 0.003, .most_time = 0.012};
    in_hot_.push_back(taken(hot_, watch, how));
    in_cold_.push_back(taken(cold_, watch, how));
  }
  /// Of a hot call and a cold one: models have each operand somewhere between.
  [[nodiscard]] double seconds() const { return stats::median(in_hot_) + stats::median(in_cold_); }

 private:
  [[nodiscard]] static double taken(operand_ring& calls, stopwatch& watch, sampling how) {
    how.most_calls = calls.most_calls();
    const samples all = sample(
        watch, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
        how);
    return stats::median(all.seconds);
  }

  std::unique_ptr<any_plan> plan_;
  operand_ring hot_;
  operand_ring cold_;
  std::vector<double> in_hot_;
  std::vector<double> in_cold_;
};

/// Which of these times is chosen, the library's own choice first: the shortest, but of those
/// within 2 % of it the first, so that chance does not decide.
[[nodiscard]] inline std::size_t shortest(const std::vector<double>& seconds) {
  constexpr double tied = 1.02;
  const double least = std::ranges::min(seconds);
  const auto wins = [&](double value) { return value <= tied * least; };
  return static_cast<std::size_t>(std::ranges::find_if(seconds, wins) - seconds.begin());
}

}  // namespace detail

/// Chooses among the plans that a library has for the same work: those that a result file names,
/// else the fastest where it is to measure, else the library's own choice.
class autotuner {
 public:
  autotuner(bool measures, std::uint64_t seed) : measures_(measures), seed_(seed) {}

  /// Takes over the plans of the rows of a file. Where it was measured with other libraries, by
  /// these context fields of `now`, their names mean others: throws bad_input.
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

  /// The algorithm for an op on a backend's device; empty: what the library chooses. Throws
  /// unsupported where the device has no plan.
  [[nodiscard]] std::string choose(const std::string& backend, int threads, device_context& memory,
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
    return known_[work] = fastest(work, memory, op, request);
  }

  /// In words, where it chose another plan than the library.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Whether nothing that it was asked for was in the file that it took plans over from.
  [[nodiscard]] bool fits_nothing() const { return !measures_ && !used_; }

 private:
  static constexpr int rounds = 5;

  /// Libraries choose by all of this.
  [[nodiscard]] static std::string full_name(const std::string& backend, const std::string& threads,
                                             const std::string& type, const std::string& order,
                                             const std::string& work) {
    return fmt::format("{}/threads:{}/{}/{}/{}", backend, threads, type, order, work);
  }

  [[nodiscard]] std::string fastest(const std::string& work, device_context& memory,
                                    const op::any& op, const plan_request& request) {
    compute_device& device = memory.device();
    const std::unique_ptr<any_plan> own = device.make_plan(op, request);
    const std::vector<std::string> names = own->alternatives();
    if (names.size() < 2) return {};
    device.activate();
    stopwatch watch = stopwatch_of(device);
    const auto candidates = rivals_of(names, work, memory, op, request, watch);
    if (candidates.empty()) return {};
    for (int i = 0; i < rounds; ++i) {
      for (const auto& item : candidates) {
        if (interrupt_guard::interrupted()) return {};
        item->round(watch);
      }
    }
    std::vector<double> seconds;
    for (const auto& candidate : candidates) seconds.push_back(candidate->seconds());
    std::size_t best = detail::shortest(seconds);
    while (best != 0 && !is_right(work, device, candidates[best]->plan())) {
      seconds[best] = std::numeric_limits<double>::infinity();
      best = detail::shortest(seconds);
    }
    if (best == 0) return {};
    const std::string chosen = candidates[best]->plan().algorithm();
    notes_.push_back(fmt::format("{}: {} in place of {}, {:.2f} times as fast", work, chosen,
                                 own->algorithm(), seconds.front() / seconds[best]));
    return chosen;
  }

  /// The library's own choice, and all others that run and are not out of the question: libraries
  /// keep slow plans for what nothing else can do.
  [[nodiscard]] std::vector<std::unique_ptr<detail::candidate>> rivals_of(
      const std::vector<std::string>& names, const std::string& work, device_context& memory,
      const op::any& op, const plan_request& request, stopwatch& watch) {
    constexpr double hopeless = 3;
    std::vector<std::unique_ptr<detail::candidate>> candidates;
    double least = std::numeric_limits<double>::infinity();
    for (const std::string& name : names) {
      plan_request wanted = request;
      wanted.algorithm = name;
      auto result =
          plan_or_null(memory.device(), op, wanted);  // it may need too much scratch memory
      if (!result) continue;
      auto next = std::make_unique<detail::candidate>(memory, std::move(result), seed_);
      const bool first = candidates.empty();
      const std::optional<double> seconds = looked_at(*next, work, watch);
      if (!seconds || (!first && *seconds > hopeless * least)) continue;
      least = std::min(least, *seconds);
      candidates.push_back(std::move(next));
    }
    return candidates;
  }

  /// How long its first calls take; nothing where the library cannot run it after all.
  [[nodiscard]] std::optional<double> looked_at(detail::candidate& candidate,
                                                const std::string& work, stopwatch& watch) {
    try {
      return candidate.first_look(watch);
    } catch (const api_error& e) {
      notes_.push_back(
          fmt::format("{}: {} is out: {}", work, candidate.plan().algorithm(), e.what()));
      return std::nullopt;
    }
  }

  [[nodiscard]] bool is_right(const std::string& work, compute_device& device,
                              const any_plan& plan) {
    try {
      verify(device, plan, seed_, /*every_output=*/false);
      return true;
    } catch (const wrong_result& e) {
      notes_.push_back(fmt::format("{}: {} is out: {}", work, plan.algorithm(), e.what()));
      return false;
    }
  }

  bool measures_;
  std::uint64_t seed_;
  std::map<std::string, std::string> known_;  ///< algorithms, by work
  std::vector<std::string> notes_;
  bool used_ = false;  ///< of what is known anything
};

}  // namespace layerbench::run
