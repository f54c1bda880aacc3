// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/benchmark_case.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/layer_clocks.hpp>

/// What is to be measured, how far that is, and when it is enough.
namespace layerbench::run {

/// How long things are measured. A case, or a row where rows are what counts, is done when it has
/// the least number of rounds and is known precisely enough, or has had its time.
struct run_configuration {
  preparation_options how = {};
  std::int64_t rounds = 7;   ///< the least number
  double least_time = 0.05;  ///< seconds a row is measured in that many rounds
  double precision = 0.01;   ///< half the width of the 95 % interval / median
  double most_time = 15;     ///< seconds for a case
  double budget = std::numeric_limits<double>::infinity();  ///< seconds for the whole run
  bool whole_models = false;  ///< what is to be precise: the sum of a case's rows, or each row
};

struct measured_row {
  benchmark_case* what;
  std::map<std::int64_t, double> rounds = {};  ///< mean seconds of a call
  bool done = false;

  [[nodiscard]] bool timed() const { return !rounds.empty(); }
  /// Whether it is in the state that predictions use.
  [[nodiscard]] bool in_model() const { return what->name().cache == "model"; }
  /// Seconds of all such calls of a step that take so long each.
  [[nodiscard]] double in_step(double seconds) const {
    return static_cast<double>(what->what().count) * seconds;
  }
  /// The same as of its last round; 0 before that.
  [[nodiscard]] double last_in_step() const {
    return timed() ? in_step(rounds.rbegin()->second) : 0;
  }
};

struct measured_configuration {
  result::configuration_name configuration;
  std::vector<measured_row> rows = {};
  chain_plan end_to_end = {};  ///< without `make`: no chain is wanted
  std::unique_ptr<chain> chain_run = {};
  std::optional<layer_clocks> clocks = {};
  std::int64_t chain_rounds = 0;
  double step_seconds = 0;  ///< of the chain, when it was visited last
  double spent = 0;         ///< seconds
  bool done = false;

  /// Whether a row is left to be visited; rows that failed are not.
  [[nodiscard]] bool open() const {
    return !done && !std::ranges::all_of(rows, &measured_row::done);
  }
};

/// Cases that are measured in the same rounds, since people compare them: all of a model, batch and
/// thread count. Threads that wait for work would disturb a case of fewer.
struct configuration_group {
  std::vector<measured_configuration> cases;

  [[nodiscard]] bool alike(const result::configuration_name& configuration) const {
    const auto threads = [](const result::configuration_name& of) {
      return of.parameter("threads", "");
    };
    const result::configuration_name& first = cases.front().configuration;
    return configuration.model == first.model && configuration.batch == first.batch &&
           threads(configuration) == threads(first);
  }
};

namespace detail {

/// Relative half-width of the 95 % interval of the median of `values`; infinite for too few.
[[nodiscard]] inline double precision_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto range = stats::median_interval(values);
  if (!range) return std::numeric_limits<double>::infinity();
  return (range->high - range->low) / 2 / stats::quantile(values, 0.5);
}

/// Sums of the case's rows, round by round, over rounds that all of them have. Where rows of
/// several cache states are measured, those that predictions use count.
[[nodiscard]] inline std::vector<double> sums(const measured_configuration& of) {
  const bool some_used = std::ranges::any_of(of.rows, &measured_row::in_model);
  std::map<std::int64_t, std::pair<double, std::size_t>> by_round;
  std::size_t rows = 0;
  for (const measured_row& row : of.rows) {
    if (!row.timed() || (some_used && !row.in_model())) continue;
    ++rows;
    for (const auto& [round, seconds] : row.rounds) {
      auto& [sum, terms] = by_round[round];
      sum += row.in_step(seconds);
      ++terms;
    }
  }
  std::vector<double> chain_run;
  for (const auto& [round, sum] : by_round) {
    if (sum.second == rows) chain_run.push_back(sum.first);
  }
  return chain_run;
}

}  // namespace detail

class work_queue {
 public:
  work_queue(const std::vector<benchmark_case*>& rows, const std::vector<chain_plan>& chains,
             run_configuration plan)
      : plan_(plan) {
    for (benchmark_case* row : rows) case_of(row->name().configuration).rows.push_back({row});
    for (const chain_plan& chain : chains) {
      measured_configuration& configuration = case_of(chain.configuration);
      configuration.end_to_end = chain;
      if (!chain.primitives.empty()) configuration.clocks.emplace();
    }
  }

  [[nodiscard]] const run_configuration& plan() const { return plan_; }
  [[nodiscard]] std::vector<configuration_group>& groups() { return groups_; }

  /// Takes over the rounds of earlier runs; returns the number of the next one. A round is measured
  /// close together: none is continued, and chains have theirs beside new ones of all rows.
  std::int64_t restore(const result::results& before) {
    std::map<result::row_name, std::map<std::int64_t, double>> known;
    std::map<result::configuration_name, std::int64_t> chains;
    std::int64_t next = 0;
    for (const result::measurement& row : before.rows) {
      known[row.name][row.round] = row.mean_seconds();
      next = std::max(next, row.round + 1);
    }
    for (const result::measurement& chain : before.chains) {
      ++chains[chain.name.configuration];
      next = std::max(next, chain.round + 1);
    }
    for (configuration_group& group : groups_) {
      for (measured_configuration& one : group.cases) {
        for (measured_row& row : one.rows) {
          row.rounds = known[row.what->name()];
        }
        one.chain_rounds = chains[one.configuration];
        mark_done(one);
      }
    }
    return next;
  }

  /// Marks what earlier rounds have finished; rows go on beside a chain that lacks rounds.
  void mark_done(measured_configuration& of) const {
    for (measured_row& row : of.rows) {
      row.done = row.done || (has_rounds(row) && !chain_left(of));
    }
    of.done = std::ranges::all_of(of.rows, &measured_row::done);
  }

  /// Visits of rows that the least number of rounds asks for.
  [[nodiscard]] std::size_t passes_to_do() const {
    std::size_t sum = 0;
    const auto rounds = static_cast<std::size_t>(plan_.rounds);
    for (const configuration_group& group : groups_) {
      for (const measured_configuration& one : group.cases) {
        for (const measured_row& row : one.rows) {
          sum += rounds - std::min(rounds, row.rounds.size());
        }
      }
    }
    return sum;
  }

  /// Seconds that a visit of `row` samples at least. More for rows that make up most of the step,
  /// so that all contribute alike to its uncertainty.
  [[nodiscard]] double least_time(const measured_configuration& configuration,
                                  const measured_row& row) const {
    const double equal = plan_.least_time / static_cast<double>(plan_.rounds);
    double sum = 0;
    for (const measured_row& item : configuration.rows) sum += item.last_in_step();
    if (!plan_.whole_models || !row.timed() || sum <= 0) return equal;
    const double share = row.last_in_step() / sum * static_cast<double>(configuration.rows.size());
    return equal * std::clamp(share, 0.5, 4.0);
  }

  /// Seconds of the case's whole step, as the rows in its state tell that were measured; 0 before.
  [[nodiscard]] double step_seconds(const measured_configuration& configuration) const {
    double known = 0;
    double share = 0;
    for (const measured_row& row : configuration.rows) {
      if (!row.timed() || !row.in_model()) continue;
      known += row.last_in_step();
      share += row.what->share();
    }
    return share > 0 ? known / share : 0;
  }

  /// Whether the case has had more than its time for the rounds that it has: then none should be
  /// spent on waiting.
  [[nodiscard]] bool over_budget(const measured_configuration& item) const {
    std::size_t done = 0;
    for (const measured_row& row : item.rows) done = std::max(done, row.rounds.size());
    const double share = static_cast<double>(done + 1) / static_cast<double>(plan_.rounds);
    return item.spent >= std::min(share, 1.0) * time_allowed();
  }

  /// Decides after a round of the case what is done. Says in words why, once it is; nothing where
  /// all rows failed, each for its own reason.
  std::string end_round(measured_configuration& configuration) {
    if (configuration.done) return {};
    configuration.done = std::ranges::none_of(configuration.rows, &measured_row::timed);
    if (configuration.done) return {};
    const bool late = configuration.spent >= time_allowed();
    double precision = 0;
    if (plan_.whole_models) {
      precision = detail::precision_of(detail::sums(configuration));
      const auto enough = [&](const measured_row& row) { return row.done || has_rounds(row); };
      // Rows that an earlier run finished get no further rounds, so neither does their sum.
      const auto finished = [](const measured_row& row) { return row.done && row.timed(); };
      configuration.done = !chain_left(configuration) &&
                           std::ranges::all_of(configuration.rows, enough) &&
                           (late || precision <= plan_.precision ||
                            std::ranges::any_of(configuration.rows, finished));
    } else {
      for (measured_row& row : configuration.rows)
        precision = std::max(precision, end_row(row, late));
      configuration.done = std::ranges::all_of(configuration.rows, &measured_row::done);
    }
    if (!configuration.done) return {};
    const bool precise = precision <= plan_.precision;
    const std::string known =
        precision > 1 ? "not known" : fmt::format("known to {:.1f} %", 100 * precision);
    return fmt::format("{} after {:.1f} s: {} {}",
                       precise ? "precise enough" : (late ? "time was up" : "resumed and whole"),
                       configuration.spent,
                       plan_.whole_models ? "the sum of its rows is" : "every row is", known);
  }

 private:
  measured_configuration& case_of(const result::configuration_name& configuration) {
    const auto group = std::ranges::find_if(
        groups_, [&](const configuration_group& item) { return item.alike(configuration); });
    if (group == groups_.end()) {
      configuration_group& result = groups_.emplace_back();
      return result.cases.emplace_back(measured_configuration{configuration});
    }
    const auto known =
        std::ranges::find(group->cases, configuration, &measured_configuration::configuration);
    return known != group->cases.end()
               ? *known
               : group->cases.emplace_back(measured_configuration{configuration});
  }

  /// Whether a chain that is wanted lacks rounds.
  [[nodiscard]] bool chain_left(const measured_configuration& of) const {
    return of.end_to_end.make && of.chain_rounds < plan_.rounds;
  }
  [[nodiscard]] bool has_rounds(const measured_row& row) const {
    return static_cast<std::int64_t>(row.rounds.size()) >= plan_.rounds;
  }

  /// How precisely the row is known; 0 where it has no timing at all.
  double end_row(measured_row& row, bool late) const {
    if (!row.timed()) return 0;
    std::vector<double> seconds;
    for (const auto& [round, value] : row.rounds) seconds.push_back(value);
    const double precision = detail::precision_of(std::move(seconds));
    row.done = row.done || (has_rounds(row) && (late || precision <= plan_.precision));
    return precision;
  }

  /// Seconds that a case may take: its own limit, or its share of what the budget leaves.
  [[nodiscard]] double time_allowed() const {
    double spent = 0;
    std::size_t open = 0;
    for (const configuration_group& group : groups_) {
      for (const measured_configuration& one : group.cases) {
        if (one.open()) {
          ++open;
        } else {
          spent += one.spent;
        }
      }
    }
    const double share =
        (plan_.budget - spent) / static_cast<double>(std::max<std::size_t>(1, open));
    return std::min(plan_.most_time, share);
  }

  run_configuration plan_;
  std::vector<configuration_group> groups_;
};

}  // namespace layerbench::run
