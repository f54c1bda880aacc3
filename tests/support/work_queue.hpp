// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/work_queue.hpp>

/// Work queues of rows that cost nothing.
namespace layerbench::testing {

[[nodiscard]] inline result::case_name case_of(const std::string& dtype, std::int64_t batch,
                                               const std::string& threads) {
  return {"reference", dtype, "tiny", batch, {{"threads", threads}}};
}

class work_queue_test : public ::testing::Test {
 protected:
  std::shared_ptr<run::device_context> memory_ = std::make_shared<run::device_context>(
      std::make_unique<run::backend_device<reference::backend, op::add>>(1));
  std::vector<std::unique_ptr<run::benchmark_row>> rows_;

  run::benchmark_row* add_row(const result::case_name& model_case, const std::string& layer,
                              const std::string& cache = "model", std::int64_t count = 1,
                              double share = 0, std::int64_t elements = 4) {
    const op::add what_runs{{elements}};
    run::row_spec what{.name = {model_case, "add", "fwd", layer, cache},
                       .op = op::any(what_runs),
                       .count = count,
                       .signature = {},
                       .make_context = [share] { return run::op_in_context{.share = share}; },
                       .expected = reference::exact_value_of(what_runs, op::pass::fwd)};
    rows_.push_back(std::make_unique<run::benchmark_row>(std::move(what), memory_));
    return rows_.back().get();
  }
  [[nodiscard]] std::vector<run::benchmark_row*> rows() const {
    std::vector<run::benchmark_row*> all;
    for (const auto& one : rows_) all.push_back(one.get());
    return all;
  }
  run::work_queue queue_;

  /// Queues all rows; decisions about them are up to the result.
  run::stopping_criterion queue_rows(const run::stopping_limits& limits) {
    queue_ = run::make_work_queue(rows(), {});
    return run::stopping_criterion(limits);
  }
  /// Takes over the rounds of a file; returns the number of the next round.
  std::int64_t resume(const result::results& earlier, const run::stopping_criterion& criterion) {
    const std::int64_t next = run::restore(earlier, queue_);
    for (run::case_group& group : queue_) {
      for (run::case_state& model_case : group) criterion.mark_done(model_case);
    }
    return next;
  }
  /// A result file with `rounds` rounds of a row.
  [[nodiscard]] static result::results rounds_of(const run::benchmark_row& of,
                                                 std::int64_t rounds) {
    result::results file;
    for (std::int64_t i = 0; i < rounds; ++i) {
      result::measurement& row = file.rows.emplace_back();
      row.name = of.name();
      row.round = i;
      row.seconds = 1;
    }
    return file;
  }
  /// Adds a round with one value per row of the case.
  static void add_round(run::case_state& model_case, std::int64_t round,
                        const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      model_case.rows.at(i).timing.rounds[{0, round}] = seconds[i];
    }
  }
};

}  // namespace layerbench::testing
