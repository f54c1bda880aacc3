// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/result/read_results.hpp>

namespace layerbench::run {

/// Chooses among the plans that a library has for the same work: the one that a result file names;
/// else the fastest one, if the autotuner measures; else the library's own choice.
class autotuner {
 public:
  autotuner(bool measures, std::uint64_t seed, reference::oracle oracle)
      : measures_(measures), seed_(seed), oracle_(std::move(oracle)) {}

  /// From that time on (of stopwatch::now()) no further plans are compared.
  void stop_at(double time) { end_ = time; }

  /// Reads the plans that a result file names. `now` has the context fields that must agree: other
  /// libraries use the same names for other plans. Throws bad_input where they differ.
  void restore(const std::string& file, const description& now);

  /// Reads which plans a resumed run must not use.
  void restore_forbidden(const std::string& file) { forbid(result::read(file).candidates); }
  /// Whether a row was measured with a plan that must not be used. `usual_threads` are those of
  /// rows whose names have none.
  [[nodiscard]] bool forbids(const result::measurement& row,
                             const std::string& usual_threads) const {
    return is_forbidden(work_name(row, usual_threads), row.label.algorithm);
  }

  /// Returns the algorithm for an op on a backend's device; empty: the library's choice. Throws
  /// unsupported where the device has no plan, and device_lost.
  [[nodiscard]] std::string choose(const std::string& backend, int threads, device_context& context,
                                   const op::any& op, const plan_request& request);

  /// Forbids a plan, whose results are wrong or which broke the device. Returns false, and changes
  /// nothing, where a result file asked for that plan.
  bool reject(const std::string& backend, int threads, const op::any& op,
              const plan_request& request, const std::string& algorithm, const std::string& why);

  /// Texts for people, about choices that differ from the library's and about failed candidates.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Of the works for which plans were compared, in this run or in the one that it resumes.
  [[nodiscard]] const result::plan_candidates& candidates() const { return candidates_; }
  /// Whether the result file named a plan for none of the ops asked for.
  [[nodiscard]] bool fits_nothing() const { return !replayed_.empty() && !used_; }

 private:
  /// Names all that a library's choice depends on.
  [[nodiscard]] static std::string full_name(const std::string& backend, const std::string& threads,
                                             const std::string& type, const std::string& layout,
                                             const std::string& work);

  [[nodiscard]] static std::string work_name(const std::string& backend, int threads,
                                             const op::any& op, const plan_request& request);

  [[nodiscard]] static std::string work_name(const result::measurement& row,
                                             const std::string& usual_threads);

  void forbid(const result::plan_candidates& known);

  [[nodiscard]] bool is_forbidden(const std::string& work, const std::string& algorithm) const;

  /// The library's choice and at most `others` plans that it proposes next, without the forbidden
  /// ones. `own` gets the algorithm of the first. Throws unsupported if none is left.
  [[nodiscard]] std::vector<std::unique_ptr<any_plan>> allowed_plans(
      const std::string& work, device_context& context, const op::any& op,
      const plan_request& request, std::size_t others, std::string& own) const;

  /// The first plan that is not forbidden; nothing where that is the library's choice.
  [[nodiscard]] std::string first_allowed(const std::string& work, device_context& context,
                                          const op::any& op, const plan_request& request);

  /// Compares the library's choice with the plans that it proposes next; returns the algorithm of
  /// the fastest, or nothing where that is the library's choice. Throws device_lost.
  [[nodiscard]] std::string fastest(const std::string& work, device_context& context,
                                    const op::any& op, const plan_request& request);

  /// Replaces what is known of candidates; forbidden ones stay, and the library's own is first.
  static void keep(std::vector<result::plan_candidate>& all,
                   std::vector<result::plan_candidate> found, const std::string& own);

  /// Whether the rounds of all remaining candidates ended.
  [[nodiscard]] static bool is_complete(const std::vector<result::plan_candidate>& all);

  /// The algorithm of the fastest candidate; nothing where that is the library's choice.
  [[nodiscard]] std::string chosen(const std::string& work,
                                   const std::vector<result::plan_candidate>& all);

  void note(const std::string& work, const std::string& text);

  bool measures_;
  double end_ = std::numeric_limits<double>::infinity();  ///< see stop_at()
  std::uint64_t seed_;
  reference::oracle oracle_;
  std::map<std::string, std::string> known_;  ///< algorithms by work
  std::set<std::string> replayed_;            ///< works whose algorithms a user's file names
  result::plan_candidates candidates_;
  device_warmer warmer_;
  std::vector<std::string> notes_;
  bool used_ = false;  ///< whether choose() found anything in `known_`
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/autotuner-inl.hpp>
#endif
