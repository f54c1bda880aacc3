// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <layerbench/result/name.hpp>

/// What is measured, and how far that has come: plain data, without devices.
namespace layerbench::run {

class benchmark_row;
struct end_to_end_run;

/// A row and the rounds that it has.
struct row_state {
  benchmark_row* benchmark = nullptr;
  std::int64_t count = 1;         ///< calls in a step of the model
  bool in_model = true;           ///< the cache state is the one that predictions use
  double share = 0;               ///< of the step's time, estimated; 0 before the row is prepared
  double cost = 0;                ///< of a call: relative_cost()
  double setup_cost = 0;          ///< of what runs before each call, if that is known
  double first_call_seconds = 0;  ///< of the call before the first round; 0: there was none
  double pass_seconds = 0;        ///< that its next pass takes, as far as known
  std::map<std::int64_t, double> rounds = {};  ///< mean seconds per call, by number of the round
  bool done = false;      ///< no further rounds: it has enough, it failed, or it was left out
  bool left_out = false;  ///< the budget left no time for it

  [[nodiscard]] bool timed() const { return !rounds.empty(); }
  /// Seconds per step for calls that take `seconds` each.
  [[nodiscard]] double step_seconds(double seconds) const {
    return static_cast<double>(count) * seconds;
  }
  /// Mean seconds per call in the latest round; 0 before the first.
  [[nodiscard]] double latest_seconds() const { return timed() ? rounds.rbegin()->second : 0; }
  [[nodiscard]] double latest_step_seconds() const { return step_seconds(latest_seconds()); }
  /// Seconds per call as far as known: of the latest round, else of the first call.
  [[nodiscard]] double call_seconds() const {
    return timed() ? latest_seconds() : first_call_seconds;
  }
};

/// A case: all rows of a model, batch, backend, data type and so on, and its chain.
struct case_state {
  result::case_name name;
  std::vector<row_state> rows = {};
  std::shared_ptr<end_to_end_run> end_to_end = {};  ///< null: no chain is wanted, or it failed
  std::int64_t chain_rounds = 0;
  std::shared_ptr<end_to_end_run> left_out_chain = {};  ///< the budget left no time for it
  double chain_pass_seconds = 0;  ///< that the next pass of the chain takes, as far as known
  double prepared = 0;            ///< seconds of preparation, with a budget
  double spent = 0;               ///< seconds of measuring
  double effort = 1;              ///< seconds that it takes, roughly: its share of a budget
  bool done = false;

  /// Whether a row is left to be measured.
  [[nodiscard]] bool open() const { return !done && !std::ranges::all_of(rows, &row_state::done); }

  /// Seconds of a whole step, extrapolated from the rows that were measured; 0 before the first.
  [[nodiscard]] double step_seconds() const {
    double seconds = 0;
    double share = 0;
    for (const row_state& row : rows) {
      if (!row.timed() || !row.in_model) continue;
      seconds += row.latest_step_seconds();
      share += row.share;
    }
    return share > 0 ? seconds / share : 0;
  }

  /// Seconds of a step in each round that all measured rows have: the sum of its rows. If some rows
  /// are in the cache state that predictions use, only those count.
  [[nodiscard]] std::vector<double> round_sums() const {
    const bool some_in_model = std::ranges::any_of(rows, &row_state::in_model);
    std::map<std::int64_t, std::pair<double, std::size_t>> by_round;  // sum and number of rows
    std::size_t summed = 0;
    for (const row_state& row : rows) {
      if (!row.timed() || (some_in_model && !row.in_model)) continue;
      ++summed;
      for (const auto& [round, seconds] : row.rounds) {
        auto& [sum, terms] = by_round[round];
        sum += row.step_seconds(seconds);
        ++terms;
      }
    }
    std::vector<double> sums;
    for (const auto& [round, sum] : by_round) {
      if (sum.second == summed) sums.push_back(sum.first);
    }
    return sums;
  }
};

/// Cases that are measured in the same rounds, because people compare them.
using case_group = std::vector<case_state>;

}  // namespace layerbench::run
