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
    std::span<const case_group> groups) const {
  std::size_t passes = 0;
  const auto rounds = static_cast<std::size_t>(limits_.min_rounds);
  for (const case_group& group : groups) {
    for (const case_state& model_case : group) {
      for (const row_state& row : model_case.rows) {
        passes += rounds - std::min(rounds, row.timing.rounds.size());
      }
    }
  }
  return passes;
}

LAYERBENCH_INLINE double stopping_criterion::pass_time(const case_state& model_case,
                                                       const row_state& row) const {
  constexpr double of_equal_share = 1.5;
  constexpr double most = 6;
  double sum = 0;
  for (const row_state& other : model_case.rows) sum += other.latest_step_seconds();
  if (!limits_.sum_rows || !row.timed() || sum <= 0) return limits_.min_time;
  const double share =
      row.latest_step_seconds() / sum * static_cast<double>(model_case.rows.size());
  return limits_.min_time * std::clamp(of_equal_share * share, 1.0, most);
}

LAYERBENCH_INLINE bool stopping_criterion::over_budget(const case_state& model_case,
                                                       std::span<const case_group> groups) const {
  std::size_t rounds = 0;
  for (const row_state& row : model_case.rows) rounds = std::max(rounds, row.timing.rounds.size());
  const double share = static_cast<double>(rounds + 1) / static_cast<double>(limits_.min_rounds);
  return model_case.spent >= std::min(share, 1.0) * time_limit(model_case, groups);
}

LAYERBENCH_INLINE void stopping_criterion::mark_done(case_state& model_case) const {
  for (row_state& row : model_case.rows) {
    row.done = row.done || (has_rounds(row) && !lacks_chain(model_case));
  }
  model_case.done = std::ranges::all_of(model_case.rows, &row_state::done);
}

LAYERBENCH_INLINE std::string stopping_criterion::end_round(case_state& model_case,
                                                            std::span<const case_group> groups,
                                                            double next_seconds) const {
  if (model_case.done) return {};
  model_case.done = std::ranges::none_of(model_case.rows, &row_state::timed);
  if (model_case.done) return {};
  const double left = budget_left(model_case, groups);
  const bool budget_is_spent = left <= 0 || left < next_seconds;
  const bool time_is_up = budget_is_spent || model_case.spent >= time_limit(model_case, groups);
  const known_precision known =
      limits_.sum_rows ? end_sum(model_case, time_is_up) : end_rows(model_case, time_is_up);
  const bool is_cut = budget_is_spent && !model_case.done;
  model_case.done = model_case.done || is_cut;
  if (!model_case.done) return {};
  const bool precise = !is_cut && known.is_enough;
  const std::string text =
      known.half_width > 1 ? "not known" : fmt::format("known to {:.1f} %", 100 * known.half_width);
  return fmt::format(
      "{} after {:.1f} s{}: {} {}",
      precise ? "precise enough" : (time_is_up ? "time was up" : "resumed and whole"),
      model_case.spent, is_cut ? ", below the least number of rounds, for the budget" : "",
      limits_.sum_rows ? "the sum of its rows is" : "every row is", text);
}

LAYERBENCH_INLINE double stopping_criterion::relative_width(std::vector<double> values) {
  std::ranges::sort(values);
  const auto interval = stats::median_interval(values);
  if (!interval) return std::numeric_limits<double>::infinity();
  return (interval->high - interval->low) / 2 / stats::quantile(values, 0.5);
}

LAYERBENCH_INLINE stopping_criterion::known_precision stopping_criterion::precision_of(
    const std::optional<result::step_sum>& sum) const {
  // A sampling error of a third of the protocol's widens the interval by a twentieth.
  constexpr double of_protocol_error = 1. / 3;
  if (!sum || sum->rounds < stats::min_sample_size) return {};
  const result::step_time& time = sum->time;
  const auto relative = [&](double low, double high) { return (high - low) / 2 / time.seconds; };
  const double protocol = time.protocol_half_width.value_or(0) / time.seconds;
  const double sampling = relative(time.sampling_low, time.sampling_high);
  return {relative(time.low(), time.high()),
          sampling <= std::max(limits_.precision, of_protocol_error * protocol)};
}

LAYERBENCH_INLINE stopping_criterion::known_precision stopping_criterion::end_sum(
    case_state& model_case, bool time_is_up) const {
  const auto enough = [&](const row_state& row) { return row.done || has_rounds(row); };
  const bool has_all = !lacks_chain(model_case) && std::ranges::all_of(model_case.rows, enough);
  if (!has_all && !time_is_up) return {};
  const known_precision known = precision_of(model_case.sum());
  // Rows that an earlier run finished get no further rounds, so neither does their sum.
  const auto finished = [](const row_state& row) { return row.done && row.timed(); };
  model_case.done =
      has_all && (time_is_up || known.is_enough || std::ranges::any_of(model_case.rows, finished));
  return known;
}

LAYERBENCH_INLINE stopping_criterion::known_precision stopping_criterion::end_rows(
    case_state& model_case, bool time_is_up) const {
  double largest = 0;
  for (row_state& row : model_case.rows) {
    if (!row.timed()) continue;
    std::vector<double> seconds;
    for (const auto& [round, value] : row.timing.rounds) seconds.push_back(value);
    const double width = relative_width(std::move(seconds));
    row.done = row.done || (has_rounds(row) && (time_is_up || width <= limits_.precision));
    largest = std::max(largest, width);
  }
  model_case.done = std::ranges::all_of(model_case.rows, &row_state::done);
  return {largest, largest <= limits_.precision};
}

LAYERBENCH_INLINE double stopping_criterion::time_limit(const case_state& model_case,
                                                        std::span<const case_group> groups) const {
  return std::min(limits_.max_time, model_case.spent + budget_left(model_case, groups));
}

LAYERBENCH_INLINE double stopping_criterion::share_of_budget(
    const case_state& model_case, std::span<const case_group> groups) const {
  double spent = overhead_;
  double effort = 0;
  for (const case_group& group : groups) {
    for (const case_state& other : group) {
      if (&other == &model_case || other.open()) {
        effort += other.effort;
      } else {
        spent += other.used();
      }
    }
  }
  return (limits_.budget - spent) * (model_case.effort / effort);
}

}  // namespace layerbench::run
