// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/list.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/session/work_queue.hpp>

/// Agendas of rows that cost nothing.
namespace layerbench::testing {

[[nodiscard]] inline result::configuration_name owner_of(const std::string& dtype,
                                                         std::int64_t batch,
                                                         const std::string& threads) {
  return {"reference", dtype, "tiny", batch, {{"threads", threads}}};
}

class agenda_test : public ::testing::Test {
 protected:
  std::shared_ptr<run::device_context> memory_ = std::make_shared<run::device_context>(
      std::make_unique<run::backend_device<reference::backend, op::add>>(1));
  std::vector<std::unique_ptr<run::fixture>> fixtures_;

  run::fixture* add_row(const result::configuration_name& configuration, const std::string& layer,
                        const std::string& cache = "model", std::int64_t count = 1,
                        double share = 0) {
    run::row what{.name = {configuration, "add", "fwd", layer, cache},
                  .op = op::any(op::add{{4}}),
                  .count = count,
                  .signature = {},
                  .around = [share] { return run::op_in_context{.share = share}; }};
    fixtures_.push_back(std::make_unique<run::fixture>(std::move(what), memory_));
    return fixtures_.back().get();
  }
  [[nodiscard]] std::vector<run::fixture*> rows() const {
    std::vector<run::fixture*> all;
    for (const auto& fixture : fixtures_) all.push_back(fixture.get());
    return all;
  }
  [[nodiscard]] run::work_queue result(const run::schedule& plan) const {
    return {rows(), {}, plan};
  }
  /// A file with so many rounds of a row.
  [[nodiscard]] static result::results rounds_of(const run::fixture& of, std::int64_t rounds) {
    result::results file;
    for (std::int64_t i = 0; i < rounds; ++i) {
      result::measurement& row = file.rows.emplace_back();
      row.name = of.name();
      row.round = i;
      row.seconds = 1;
    }
    return file;
  }
  /// Rounds of the only case's rows: a value a row.
  static void add_round(run::measured_configuration& of, std::int64_t round,
                        const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < of.rows.size(); ++i) of.rows[i].rounds[round] = seconds[i];
  }
};

}  // namespace layerbench::testing
