// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <layerbench/result/name.hpp>
#include <layerbench/result/step_time.hpp>
#include <layerbench/result/timing.hpp>
#include <layerbench/session/latency_watch.hpp>

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
  result::timing timing = {};     ///< its rounds so far, which are one series
  bool done = false;      ///< no further rounds: it has enough, it failed, or it was left out
  bool left_out = false;  ///< the budget left no time for it

  [[nodiscard]] bool timed() const { return !timing.rounds.empty(); }
  void add_round(const result::measurement& measured) { timing.add({0, measured.round}, measured); }
  /// Marks its round of that number, if it has one.
  void mark_disturbed(std::int64_t round) {
    if (timing.rounds.contains({0, round})) timing.disturbed.insert({0, round});
  }
  /// Seconds per step for calls that take `seconds` each.
  [[nodiscard]] double step_seconds(double seconds) const {
    return static_cast<double>(count) * seconds;
  }
  /// Mean seconds per call in the latest round; 0 before the first.
  [[nodiscard]] double latest_seconds() const {
    return timed() ? timing.rounds.rbegin()->second : 0;
  }
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
  double chain_pass_seconds = 0;    ///< that the next pass of the chain takes, as far as known
  double prepared = 0;              ///< seconds of preparation, with a budget
  double spent = 0;                 ///< seconds of measuring
  double energy = 0;                ///< seconds of windows of energy, which end no case
  double effort = 1;                ///< seconds that it takes, roughly: its share of a budget
  latency_watch stream = {};        ///< of cases with several
  std::int64_t watched_round = -1;  ///< the latest in which waits for a processor were watched
  bool done = false;

  /// Seconds of a budget that it used.
  [[nodiscard]] double used() const { return prepared + spent + energy; }

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

  /// The sum of the measured rows, as predictions add it up. If some rows are in the cache state
  /// that predictions use, only those count. Nothing before a row is measured.
  [[nodiscard]] std::optional<result::step_sum> sum() const;
};

/// Cases that are measured in the same rounds, because people compare them.
using case_group = std::vector<case_state>;

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/case_state-inl.hpp>
#endif
