// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/reference/list.hpp>
#include <layerbench/run/agenda.hpp>
#include <layerbench/run/backend_device.hpp>

/// Agendas of rows that cost nothing.
namespace layerbench::testing {

[[nodiscard]] inline result::case_name owner_of(const std::string& dtype, std::int64_t batch,
                                                const std::string& threads) {
  return {"reference", dtype, "tiny", batch, {{"threads", threads}}};
}

class agenda_test : public ::testing::Test {
 protected:
  std::shared_ptr<run::arena> memory_ = std::make_shared<run::arena>(
      std::make_unique<run::backend_device<reference::backend, op::add>>(1));
  std::vector<std::unique_ptr<run::fixture>> fixtures_;

  run::fixture* add_row(const result::case_name& owner, const std::string& layer,
                        const std::string& cache = "model", std::int64_t count = 1,
                        double share = 0) {
    run::row what{.name = {owner, "add", "fwd", layer, cache},
                  .op = op::any(op::add{{4}}),
                  .count = count,
                  .signature = {},
                  .around = [share] { return run::surrounded_op{.share = share}; }};
    fixtures_.push_back(std::make_unique<run::fixture>(std::move(what), memory_));
    return fixtures_.back().get();
  }
  [[nodiscard]] std::vector<run::fixture*> rows() const {
    std::vector<run::fixture*> all;
    for (const auto& each : fixtures_) all.push_back(each.get());
    return all;
  }
  [[nodiscard]] run::agenda made(const run::schedule& plan) const { return {rows(), {}, plan}; }
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
  static void add_round(run::measured_case& of, std::int64_t round,
                        const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < of.rows.size(); ++i) of.rows[i].rounds[round] = seconds[i];
  }
};

}  // namespace layerbench::testing
