// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/session/case_state.hpp>

namespace layerbench::run {

/// When measuring stops, and how passes begin. A case (or each row, without `sum_rows`) is
/// done when it has the least number of rounds and is known precisely, or its time is up. A budget
/// ends it even below that number.
struct stopping_limits {
  std::int64_t min_rounds = 7;
  double min_time = 0.005;  ///< seconds that a row is sampled at least in each round
  double precision = 0.01;  ///< half the width of the 95 % interval by rounds / the time
  double max_time = 15;     ///< seconds per case
  double budget = std::numeric_limits<double>::infinity();  ///< seconds of the whole run
  std::optional<double> started = {};  ///< when the run began; unset: when measuring does
  bool steady_clocks = false;          ///< work precedes each pass until clocks are steady
  bool sum_rows = false;               ///< the sum of a case's rows must be precise, not each row
  bool single_call = false;            ///< each pass is one call, without a warm-up
};

/// Decides after each round what is done, and how much time a pass gets.
class stopping_criterion {
 public:
  explicit stopping_criterion(const stopping_limits& limits) : limits_(limits) {}

  [[nodiscard]] const stopping_limits& limits() const { return limits_; }
  [[nodiscard]] bool has_budget() const { return std::isfinite(limits_.budget); }

  /// Sets the seconds of the budget that belong to no case, such as those of planning.
  void set_overhead(double seconds) { overhead_ = seconds; }

  /// Seconds that `model_case`, which is among `groups`, has left of its share of the budget.
  [[nodiscard]] double budget_left(const case_state& model_case,
                                   std::span<const case_group> groups) const {
    return share_of_budget(model_case, groups) - model_case.used();
  }

  /// Seconds of a row's first pass, by its first call: of a warm-up, and of twice the least time or
  /// of two samples.
  [[nodiscard]] double first_pass_seconds(double first_call) const;

  /// Seconds of the chain's first pass, by those of a step: of turns that warm the caches, and of
  /// two samples.
  [[nodiscard]] double first_chain_pass_seconds(double step) const;

  /// Passes of rows that are missing from the least number of rounds.
  [[nodiscard]] std::size_t passes_left(std::span<const case_group> groups) const;

  /// Seconds that a pass of `row` samples at least. Rows that take most of the step get more, so
  /// that all rows contribute about equally to the uncertainty of the sum.
  [[nodiscard]] double pass_time(const case_state& model_case, const row_state& row) const;

  /// Seconds that a pass of a chain samples at least: a step is as long as many rows together.
  [[nodiscard]] double chain_pass_time() const { return 10 * limits_.min_time; }

  /// Whether the case has spent more than its rounds' share of its time. Then its passes
  /// are short and do not wait for the usual clock frequency.
  [[nodiscard]] bool over_budget(const case_state& model_case,
                                 std::span<const case_group> groups) const;

  /// Whether the case's chain is to be run, and lacks rounds.
  [[nodiscard]] bool lacks_chain(const case_state& model_case) const {
    return model_case.end_to_end != nullptr && model_case.chain_rounds < limits_.min_rounds;
  }

  /// Marks rows that earlier runs finished. They get further rounds while the chain lacks rounds,
  /// since both are compared round by round.
  void mark_done(case_state& model_case) const;

  /// Decides after a round of `model_case`, which is among `groups`, what is done. The next
  /// round takes `next_seconds`, as far as known; one that does not fit into the budget does not
  /// begin. Returns the reason in words once the case is done; nothing while it is open,
  /// and nothing if all its rows failed.
  std::string end_round(case_state& model_case, std::span<const case_group> groups,
                        double next_seconds = 0) const;

 private:
  /// Half the width of the 95 % interval of the median, relative to the median; infinite for fewer
  /// values than an interval needs.
  [[nodiscard]] static double relative_width(std::vector<double> values);

  [[nodiscard]] bool has_rounds(const row_state& row) const {
    return static_cast<std::int64_t>(row.timing.rounds.size()) >= limits_.min_rounds;
  }
  /// Half the width of a 95 % interval, relative to its value.
  struct known_precision {
    double half_width = std::numeric_limits<double>::infinity();  ///< infinite: not known
    bool is_enough = false;
  };

  /// How precisely a sum is known, as a prediction from its rounds says. It is enough if sampling
  /// adds little to what is known of such sums.
  [[nodiscard]] known_precision precision_of(const std::optional<result::step_sum>& sum) const;

  /// Decides whether the sum of all rows is known.
  known_precision end_sum(case_state& model_case, bool time_is_up) const;

  /// Decides for each row whether it is known; the half-width is the largest one.
  known_precision end_rows(case_state& model_case, bool time_is_up) const;

  /// Seconds that a case may measure: its own limit, or what preparation left of its share
  /// of the budget.
  [[nodiscard]] double time_limit(const case_state& model_case,
                                  std::span<const case_group> groups) const;

  /// Seconds of the budget that fall to an open case. The open ones share what the others
  /// left, in proportion to their effort.
  [[nodiscard]] double share_of_budget(const case_state& model_case,
                                       std::span<const case_group> groups) const;

  stopping_limits limits_;
  double overhead_ = 0;  ///< see set_overhead()
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/stopping_criterion-inl.hpp>
#endif
