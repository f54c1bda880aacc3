// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <layerbench/base/compiled.hpp>
#include <layerbench/op/rnn.hpp>
#include <layerbench/result/protocol_error.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/case_state.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE std::optional<case_sum> case_state::sum() const {
  const bool some_in_model = std::ranges::any_of(rows, &row_state::in_model);
  std::vector<result::term> terms;
  double seconds = 0;
  for (const row_state& row : rows) {
    if (!row.timed() || (some_in_model && !row.in_model)) continue;
    terms.push_back({static_cast<double>(row.count), &row.timing});
    seconds += row.step_seconds(row.timing.seconds());
  }
  if (terms.empty()) return std::nullopt;
  std::size_t rounds = 0;
  result::step_time step = result::add_up(seconds, terms, rounds);
  const double disturbed = result::disturbed_share(terms);
  if (result::has_unknown_error(disturbed, rounds)) {
    step.kind = result::interval_method::none;
  } else if (some_in_model) {
    const bool is_recurrent = std::ranges::any_of(
        rows, [](const row_state& row) { return row.benchmark->name().op == op::rnn::name; });
    step.set_protocol_error(result::protocol_error_of(
        {name.backend, result::step_kind(name, is_recurrent), disturbed, seconds}));
  }
  return case_sum{step, rounds};
}

}  // namespace layerbench::run
