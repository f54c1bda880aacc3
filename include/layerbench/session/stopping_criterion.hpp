// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/session/configuration_state.hpp>

namespace layerbench::run {

/// When measuring stops, and how passes begin. A configuration (or each row, without `sum_rows`) is
/// done when it has the least number of rounds and is known precisely, or its time is up.
struct stopping_limits {
  std::int64_t min_rounds = 7;
  double min_time = 0.005;  ///< seconds that a row is sampled at least in each round
  double precision = 0.01;  ///< half the width of the 95 % interval / median
  double max_time = 15;     ///< seconds per configuration
  double budget = std::numeric_limits<double>::infinity();  ///< seconds of the whole run
  bool steady_clocks = false;  ///< work precedes each pass until clocks are steady
  bool sum_rows = false;       ///< the sum of a configuration's rows must be precise, not each row
  bool single_call = false;    ///< each pass is one call, without a warm-up
};

/// Decides after each round what is done, and how much time a pass gets.
class stopping_criterion {
 public:
  explicit stopping_criterion(const stopping_limits& limits) : limits_(limits) {}

  [[nodiscard]] const stopping_limits& limits() const { return limits_; }

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
    return configuration.spent >= std::min(share, 1.0) * time_limit(groups);
  }

  /// Marks rows that earlier runs finished. They get further rounds while the chain lacks rounds,
  /// since both are compared round by round.
  void mark_done(configuration_state& configuration) const {
    for (row_state& row : configuration.rows) {
      row.done = row.done || (has_rounds(row) && !lacks_chain(configuration));
    }
    configuration.done = std::ranges::all_of(configuration.rows, &row_state::done);
  }

  /// Decides after a round of `configuration`, which is among `groups`, what is done. Returns the
  /// reason in words once the configuration is done; nothing while it is open, and nothing if all
  /// its rows failed.
  std::string end_round(configuration_state& configuration,
                        std::span<const configuration_group> groups) const {
    if (configuration.done) return {};
    configuration.done = std::ranges::none_of(configuration.rows, &row_state::timed);
    if (configuration.done) return {};
    const bool time_is_up = configuration.spent >= time_limit(groups);
    const double width =
        limits_.sum_rows ? end_sum(configuration, time_is_up) : end_rows(configuration, time_is_up);
    if (!configuration.done) return {};
    const bool precise = width <= limits_.precision;
    const std::string known =
        width > 1 ? "not known" : fmt::format("known to {:.1f} %", 100 * width);
    return fmt::format(
        "{} after {:.1f} s: {} {}",
        precise ? "precise enough" : (time_is_up ? "time was up" : "resumed and whole"),
        configuration.spent, limits_.sum_rows ? "the sum of its rows is" : "every row is", known);
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
  [[nodiscard]] bool lacks_chain(const configuration_state& configuration) const {
    return configuration.end_to_end != nullptr && configuration.chain_rounds < limits_.min_rounds;
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

  /// Seconds that a configuration may take: its own limit, or an equal share of what is left of the
  /// budget.
  [[nodiscard]] double time_limit(std::span<const configuration_group> groups) const {
    double spent = 0;
    std::size_t open = 0;
    for (const configuration_group& group : groups) {
      for (const configuration_state& configuration : group) {
        if (configuration.open()) {
          ++open;
        } else {
          spent += configuration.spent;
        }
      }
    }
    const double share =
        (limits_.budget - spent) / static_cast<double>(std::max<std::size_t>(1, open));
    return std::min(limits_.max_time, share);
  }

  stopping_limits limits_;
};

}  // namespace layerbench::run
