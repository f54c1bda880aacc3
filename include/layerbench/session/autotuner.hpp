// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/oracle.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/session/plan_search.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

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
    if (measures_) candidates_ = before.candidates;
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
    const auto compared = candidates_.find(work);  // by a run that ended before it had a row of it
    if (compared != candidates_.end()) return known_[work] = chosen(work, compared->second);
    return known_[work] = fastest(work, context, op, request);
  }

  /// Texts for people, about choices that differ from the library's and about failed candidates.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Of the works for which plans were compared, in this run or in the one that it resumes.
  [[nodiscard]] const result::plan_candidates& candidates() const { return candidates_; }
  /// Whether the result file named a plan for none of the ops asked for.
  [[nodiscard]] bool fits_nothing() const { return !measures_ && !used_; }

 private:
  /// Names all that a library's choice depends on.
  [[nodiscard]] static std::string full_name(const std::string& backend, const std::string& threads,
                                             const std::string& type, const std::string& order,
                                             const std::string& work) {
    return fmt::format("{}/threads:{}/{}/{}/{}", backend, threads, type, order, work);
  }

  /// Compares the library's choice with the plans that it proposes next; returns the algorithm of
  /// the fastest, or nothing where that is the library's choice.
  [[nodiscard]] std::string fastest(const std::string& work, device_context& context,
                                    const op::any& op, const plan_request& request) {
    // So many does PyTorch time, too (benchmark_limit of torch.backends.cudnn is 10).
    constexpr std::size_t most_candidates = 12;
    std::vector<std::unique_ptr<any_plan>> plans;
    plans.push_back(context.device().make_plan(op, request));
    for (auto& other : plans.front()->alternatives(most_candidates - 1)) {
      plans.push_back(std::move(other));
    }
    if (plans.size() < 2) return {};
    context.device().activate();
    detail::plan_search search(context, std::move(plans), seed_);
    if (!search.measure(warmer_)) return {};
    search.verify_fastest(oracle_.of(op, request.pass));
    for (const std::string& text : search.failures()) note(work, text);
    return chosen(work, candidates_[work] = search.records());
  }

  /// The algorithm of the fastest candidate; nothing where that is the library's choice.
  [[nodiscard]] std::string chosen(const std::string& work,
                                   const std::vector<result::plan_candidate>& all) {
    const result::plan_candidate* best = detail::fastest_of(all);
    if (best == nullptr || best == &all.front()) return {};
    std::string text = fmt::format("{} in place of {}", best->algorithm, all.front().algorithm);
    const double gain = detail::seconds_of(all.front()) / detail::seconds_of(*best);
    if (std::isfinite(gain)) text += fmt::format(", {:.2f} times as fast", gain);
    note(work, text);
    return best->algorithm;
  }

  void note(const std::string& work, const std::string& text) {
    notes_.push_back(fmt::format("{}: {}", work, text));
  }

  bool measures_;
  std::uint64_t seed_;
  reference::oracle oracle_;
  std::map<std::string, std::string> known_;  ///< algorithms by work
  result::plan_candidates candidates_;
  device_warmer warmer_;
  std::vector<std::string> notes_;
  bool used_ = false;  ///< whether choose() found anything in `known_`
};

}  // namespace layerbench::run
