// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/session/configuration_state.hpp>

namespace layerbench::run {

/// When measuring stops, and how passes begin. A configuration (or each row, without `sum_rows`) is
/// done when it has the least number of rounds and is known precisely, or its time is up. A budget
/// ends it even below that number.
struct stopping_limits {
  std::int64_t min_rounds = 7;
  double min_time = 0.005;  ///< seconds that a row is sampled at least in each round
  double precision = 0.01;  ///< half the width of the 95 % interval / median
  double max_time = 15;     ///< seconds per configuration
  double budget = std::numeric_limits<double>::infinity();  ///< seconds of the whole run
  std::optional<double> started = {};  ///< when the run began; unset: when measuring does
  bool steady_clocks = false;          ///< work precedes each pass until clocks are steady
  bool sum_rows = false;     ///< the sum of a configuration's rows must be precise, not each row
  bool single_call = false;  ///< each pass is one call, without a warm-up
};

/// Decides after each round what is done, and how much time a pass gets.
class stopping_criterion {
 public:
  explicit stopping_criterion(const stopping_limits& limits) : limits_(limits) {}

  [[nodiscard]] const stopping_limits& limits() const { return limits_; }
  [[nodiscard]] bool has_budget() const { return std::isfinite(limits_.budget); }

  /// Sets the seconds of the budget that belong to no configuration, such as those of planning.
  void set_overhead(double seconds) { overhead_ = seconds; }

  /// Seconds that `configuration`, which is among `groups`, has left of its share of the budget.
  [[nodiscard]] double budget_left(const configuration_state& configuration,
                                   std::span<const configuration_group> groups) const {
    return share_of_budget(configuration, groups) - configuration.prepared - configuration.spent;
  }

  /// Seconds of a row's first pass, by its first call: of a warm-up, and of twice the least time or
  /// of two samples.
  [[nodiscard]] double first_pass_seconds(double first_call) const {
    constexpr double warm_up = 0.002;
    return warm_up + 2 * limits_.min_time + 3 * first_call;
  }

  /// Seconds of the chain's first pass, by those of a step: of turns that warm the caches, and of
  /// two samples.
  [[nodiscard]] double first_chain_pass_seconds(double step) const {
    return std::max(chain_pass_time(), 5 * step);
  }

  /// Passes of rows that are missing from the least number of rounds.
  [[nodiscard]] std::size_t passes_left(std::span<const configuration_group> groups) const {
    std::size_t passes = 0;
    const auto rounds = static_cast<std::size_t>(limits_.min_rounds);
    for (const configuration_group& group : groups) {
      for (const configuration_state& configuration : group) {
        for (const row_state& row : configuration.rows) {
          passes += rounds - std::min(rounds, row.rounds.size());
        }
      }
    }
    return passes;
  }

  /// Seconds that a pass of `row` samples at least. Rows that take most of the step get more, so
  /// that all rows contribute about equally to the uncertainty of the sum.
  [[nodiscard]] double pass_time(const configuration_state& configuration,
                                 const row_state& row) const {
    constexpr double of_equal_share = 1.5;
    constexpr double most = 6;
    double sum = 0;
    for (const row_state& other : configuration.rows) sum += other.latest_step_seconds();
    if (!limits_.sum_rows || !row.timed() || sum <= 0) return limits_.min_time;
    const double share =
        row.latest_step_seconds() / sum * static_cast<double>(configuration.rows.size());
    return limits_.min_time * std::clamp(of_equal_share * share, 1.0, most);
  }

  /// Seconds that a pass of a chain samples at least: a step is as long as many rows together.
  [[nodiscard]] double chain_pass_time() const { return 10 * limits_.min_time; }

  /// Whether the configuration has spent more than its rounds' share of its time. Then its passes
  /// are short and do not wait for the usual clock frequency.
  [[nodiscard]] bool over_budget(const configuration_state& configuration,
                                 std::span<const configuration_group> groups) const {
    std::size_t rounds = 0;
    for (const row_state& row : configuration.rows) rounds = std::max(rounds, row.rounds.size());
    const double share = static_cast<double>(rounds + 1) / static_cast<double>(limits_.min_rounds);
    return configuration.spent >= std::min(share, 1.0) * time_limit(configuration, groups);
  }

  /// Whether the configuration's chain is to be run, and lacks rounds.
  [[nodiscard]] bool lacks_chain(const configuration_state& configuration) const {
    return configuration.end_to_end != nullptr && configuration.chain_rounds < limits_.min_rounds;
  }

  /// Marks rows that earlier runs finished. They get further rounds while the chain lacks rounds,
  /// since both are compared round by round.
  void mark_done(configuration_state& configuration) const {
    for (row_state& row : configuration.rows) {
      row.done = row.done || (has_rounds(row) && !lacks_chain(configuration));
    }
    configuration.done = std::ranges::all_of(configuration.rows, &row_state::done);
  }

  /// Decides after a round of `configuration`, which is among `groups`, what is done. The next
  /// round takes `next_seconds`, as far as known; one that does not fit into the budget does not
  /// begin. Returns the reason in words once the configuration is done; nothing while it is open,
  /// and nothing if all its rows failed.
  std::string end_round(configuration_state& configuration,
                        std::span<const configuration_group> groups,
                        double next_seconds = 0) const {
    if (configuration.done) return {};
    configuration.done = std::ranges::none_of(configuration.rows, &row_state::timed);
    if (configuration.done) return {};
    const double left = budget_left(configuration, groups);
    const bool budget_is_spent = left <= 0 || left < next_seconds;
    const bool time_is_up =
        budget_is_spent || configuration.spent >= time_limit(configuration, groups);
    const double width =
        limits_.sum_rows ? end_sum(configuration, time_is_up) : end_rows(configuration, time_is_up);
    const bool is_cut = budget_is_spent && !configuration.done;
    configuration.done = configuration.done || is_cut;
    if (!configuration.done) return {};
    const bool precise = !is_cut && width <= limits_.precision;
    const std::string known =
        width > 1 ? "not known" : fmt::format("known to {:.1f} %", 100 * width);
    return fmt::format(
        "{} after {:.1f} s{}: {} {}",
        precise ? "precise enough" : (time_is_up ? "time was up" : "resumed and whole"),
        configuration.spent, is_cut ? ", below the least number of rounds, for the budget" : "",
        limits_.sum_rows ? "the sum of its rows is" : "every row is", known);
  }

 private:
  /// Half the width of the 95 % interval of the median, relative to the median; infinite for fewer
  /// values than an interval needs.
  [[nodiscard]] static double relative_width(std::vector<double> values) {
    std::ranges::sort(values);
    const auto interval = stats::median_interval(values);
    if (!interval) return std::numeric_limits<double>::infinity();
    return (interval->high - interval->low) / 2 / stats::quantile(values, 0.5);
  }

  [[nodiscard]] bool has_rounds(const row_state& row) const {
    return static_cast<std::int64_t>(row.rounds.size()) >= limits_.min_rounds;
  }
  /// Decides whether the sum of all rows is known; returns its relative width.
  double end_sum(configuration_state& configuration, bool time_is_up) const {
    const double width = relative_width(configuration.round_sums());
    const auto enough = [&](const row_state& row) { return row.done || has_rounds(row); };
    // Rows that an earlier run finished get no further rounds, so neither does their sum.
    const auto finished = [](const row_state& row) { return row.done && row.timed(); };
    configuration.done = !lacks_chain(configuration) &&
                         std::ranges::all_of(configuration.rows, enough) &&
                         (time_is_up || width <= limits_.precision ||
                          std::ranges::any_of(configuration.rows, finished));
    return width;
  }

  /// Decides for each row whether it is known; returns the largest relative width.
  double end_rows(configuration_state& configuration, bool time_is_up) const {
    double largest = 0;
    for (row_state& row : configuration.rows) {
      if (!row.timed()) continue;
      std::vector<double> seconds;
      for (const auto& [round, value] : row.rounds) seconds.push_back(value);
      const double width = relative_width(std::move(seconds));
      row.done = row.done || (has_rounds(row) && (time_is_up || width <= limits_.precision));
      largest = std::max(largest, width);
    }
    configuration.done = std::ranges::all_of(configuration.rows, &row_state::done);
    return largest;
  }

  /// Seconds that a configuration may measure: its own limit, or what preparation left of its share
  /// of the budget.
  [[nodiscard]] double time_limit(const configuration_state& configuration,
                                  std::span<const configuration_group> groups) const {
    return std::min(limits_.max_time,
                    share_of_budget(configuration, groups) - configuration.prepared);
  }

  /// Seconds of the budget that fall to an open configuration. The open ones share what the others
  /// left, in proportion to their effort.
  [[nodiscard]] double share_of_budget(const configuration_state& configuration,
                                       std::span<const configuration_group> groups) const {
    double spent = overhead_;
    double effort = 0;
    for (const configuration_group& group : groups) {
      for (const configuration_state& other : group) {
        if (&other == &configuration || other.open()) {
          effort += other.effort;
        } else {
          spent += other.prepared + other.spent;
        }
      }
    }
    return (limits_.budget - spent) * (configuration.effort / effort);
  }

  stopping_limits limits_;
  double overhead_ = 0;  ///< see set_overhead()
};

}  // namespace layerbench::run
