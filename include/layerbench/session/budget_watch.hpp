// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <layerbench/session/case_state.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

/// Tells what fits into the rest of a run's budget, by the time that passed and by what was
/// prepared so far.
class budget_watch {
 public:
  /// `now` is the clock. The arguments must outlive this.
  budget_watch(stopping_criterion& criterion, const work_queue& queue,
               const std::function<double()>& now)
      : criterion_(criterion),
        queue_(queue),
        now_(now),
        started_(criterion.limits().started.value_or(now())) {}

  [[nodiscard]] bool exists() const { return criterion_.has_budget(); }
  [[nodiscard]] double elapsed() const { return now_() - started_; }
  [[nodiscard]] double rest() const { return criterion_.limits().budget - elapsed(); }
  /// Does not count `seconds` that passed: they were those of another program.
  void leave_out(double seconds) { started_ += seconds; }

  /// Tells the criterion what the run spent on no case, and what its end will take.
  void update() {
    double own = 0;
    for (const case_group& group : queue_) {
      for (const case_state& one : group) own += one.used();
    }
    const double end = std::min(0.5, 0.05 * criterion_.limits().budget);
    criterion_.set_overhead(elapsed() + end - own);
  }

  /// Whether `seconds` fit into what a case has left.
  [[nodiscard]] bool fits(const case_state& model_case, double seconds) {
    if (!exists()) return true;
    update();
    return seconds <= criterion_.budget_left(model_case, queue_);
  }

  /// What the time of a row depends on: the cost of a call, and of what runs before it.
  [[nodiscard]] static double cost_of(const row_state& row) { return row.cost + row.setup_cost; }

  /// Learns what it takes to prepare a row and to measure it once.
  void learn(const row_state& row, double seconds) {
    learned_.emplace_back(cost_of(row), seconds);
    least_seconds_ = std::min(least_seconds_, seconds);
    learned_cost_ += cost_of(row);
    learned_seconds_ += seconds;
  }
  /// Seconds that it takes to prepare a row and to measure it once: a fixed time, and one that
  /// grows with the cost, but not less than a row of less cost took, and not more than one of more
  /// cost did. The first guess is that of a slow machine, so a long row has to wait until shorter
  /// ones have told more.
  [[nodiscard]] double expected_seconds(const row_state& row) const {
    constexpr double guessed_fixed = 0.02;
    constexpr double guessed_seconds = 0.1;
    constexpr double guessed_cost = 1e7;
    const double fixed = learned_.empty() ? guessed_fixed : least_seconds_;
    const double above_fixed = learned_seconds_ - fixed * static_cast<double>(learned_.size());
    double least =
        fixed + (guessed_seconds + above_fixed) / (guessed_cost + learned_cost_) * cost_of(row);
    double most = std::numeric_limits<double>::infinity();
    for (const auto& [cost, seconds] : learned_) {
      if (cost <= cost_of(row)) least = std::max(least, seconds);
      if (cost >= cost_of(row)) most = std::min(most, seconds);
    }
    return std::min(least, most);
  }
  /// Whether that is a guess: all rows so far had much less cost.
  [[nodiscard]] bool guesses(const row_state& row) const {
    const auto is_similar = [&](const auto& known) { return known.first >= 0.1 * cost_of(row); };
    return std::ranges::none_of(learned_, is_similar);
  }
  /// The same on a fast machine.
  [[nodiscard]] double hoped_seconds(const row_state& row) const {
    return expected_seconds(row) / 30;
  }

 private:
  stopping_criterion& criterion_;
  const work_queue& queue_;
  const std::function<double()>& now_;
  double started_;
  std::vector<std::pair<double, double>> learned_;  ///< cost and seconds of rows
  double least_seconds_ = std::numeric_limits<double>::infinity();
  double learned_seconds_ = 0;
  double learned_cost_ = 0;
};

}  // namespace layerbench::run
