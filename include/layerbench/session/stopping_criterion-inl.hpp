// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/session/stopping_criterion.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE double stopping_criterion::first_pass_seconds(double first_call) const {
  constexpr double warm_up = 0.002;
  return warm_up + 2 * limits_.min_time + 3 * first_call;
}

LAYERBENCH_INLINE double stopping_criterion::first_chain_pass_seconds(double step) const {
  return std::max(chain_pass_time(), 5 * step);
}

LAYERBENCH_INLINE std::size_t stopping_criterion::passes_left(
    std::span<const configuration_group> groups) const {
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

LAYERBENCH_INLINE double stopping_criterion::pass_time(const configuration_state& configuration,
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

LAYERBENCH_INLINE bool stopping_criterion::over_budget(
    const configuration_state& configuration, std::span<const configuration_group> groups) const {
  std::size_t rounds = 0;
  for (const row_state& row : configuration.rows) rounds = std::max(rounds, row.rounds.size());
  const double share = static_cast<double>(rounds + 1) / static_cast<double>(limits_.min_rounds);
  return configuration.spent >= std::min(share, 1.0) * time_limit(configuration, groups);
}

LAYERBENCH_INLINE void stopping_criterion::mark_done(configuration_state& configuration) const {
  for (row_state& row : configuration.rows) {
    row.done = row.done || (has_rounds(row) && !lacks_chain(configuration));
  }
  configuration.done = std::ranges::all_of(configuration.rows, &row_state::done);
}

LAYERBENCH_INLINE std::string stopping_criterion::end_round(
    configuration_state& configuration, std::span<const configuration_group> groups,
    double next_seconds) const {
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
  const std::string known = width > 1 ? "not known" : fmt::format("known to {:.1f} %", 100 * width);
  return fmt::format(
      "{} after {:.1f} s{}: {} {}",
      precise ? "precise enough" : (time_is_up ? "time was up" : "resumed and whole"),
      configuration.spent, is_cut ? ", below the least number of rounds, for the budget" : "",
      limits_.sum_rows ? "the sum of its rows is" : "every row is", known);
}

LAYERBENCH_INLINE double stopping_criterion::relative_width(std::vector<double> values) {
  std::ranges::sort(values);
  const auto interval = stats::median_interval(values);
  if (!interval) return std::numeric_limits<double>::infinity();
  return (interval->high - interval->low) / 2 / stats::quantile(values, 0.5);
}

LAYERBENCH_INLINE double stopping_criterion::end_sum(configuration_state& configuration,
                                                     bool time_is_up) const {
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

LAYERBENCH_INLINE double stopping_criterion::end_rows(configuration_state& configuration,
                                                      bool time_is_up) const {
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

LAYERBENCH_INLINE double stopping_criterion::time_limit(
    const configuration_state& configuration, std::span<const configuration_group> groups) const {
  return std::min(limits_.max_time,
                  share_of_budget(configuration, groups) - configuration.prepared);
}

LAYERBENCH_INLINE double stopping_criterion::share_of_budget(
    const configuration_state& configuration, std::span<const configuration_group> groups) const {
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

}  // namespace layerbench::run
